"""Middleware of the agents' API, which has no session and no form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed

from retrycontract.api.problems import CONTENT_TYPE, problem_response

API_PREFIX = "/api/"


class ProblemResponses:
    """Answer every error below /api/ with a problem document, also those that Django writes as pages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        is_page = response.status_code >= 400 and response["Content-Type"] != CONTENT_TYPE
        return _as_problem(response) if is_page and request.path_info.startswith(API_PREFIX) else response


def _as_problem(response: HttpResponse) -> HttpResponse:
    if isinstance(response, HttpResponseNotAllowed):
        allowed = response["Allow"]
        problem = problem_response(405, "method-not-allowed", f"This address takes {allowed}.")
        problem["Allow"] = allowed
        return problem
    if response.status_code == 404:
        return problem_response(404, "not-found", "Nothing has this address; see /api/v1/openapi.json.")
    return problem_response(response.status_code, "http-error", f"{response.reason_phrase}.")


class PageLoginRequired(LoginRequiredMiddleware):
    """Ask for a login everywhere but below /api/, where keys decide."""

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        """Let requests of the API through."""
        if request.path_info.startswith(API_PREFIX):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)
