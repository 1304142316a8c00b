"""Middleware of the agents' API, which has no session and no form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed

from retrycontract.api.problems import problem_response

API_PREFIX = "/api/"


class ProblemResponses:
    """Answer a wrong method below /api/ with a problem document, as every other error there."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and request.path_info.startswith(API_PREFIX):
            allowed = response["Allow"]
            response = problem_response(405, "method-not-allowed", f"This address takes {allowed}.")
            response["Allow"] = allowed
        return response


class PageLoginRequired(LoginRequiredMiddleware):
    """Ask for a login everywhere but below /api/, where keys decide."""

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        """Let requests of the API through."""
        if request.path_info.startswith(API_PREFIX):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)
