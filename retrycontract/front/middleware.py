"""Middleware: a log line for each request, and what the agents' API needs, which has no session and no form."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.core.exceptions import DisallowedHost
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed, QueryDict
from django.utils.module_loading import import_string

from retrycontract.api.problems import CONTENT_TYPE, problem_response, unknown_host
from retrycontract.api.routes import HEAD_ONLY, PENDING_HEADER
from retrycontract.config.logs import ANSWERED, follow, forget
from retrycontract.contract.events import read_traceparent
from retrycontract.front.request_ids import HEADER as REQUEST_ID
from retrycontract.front.request_ids import usable_request_id
from retrycontract.usecases.calls.repeat_request import safe_identifier

API_PREFIX = "/api/"
AGENTS_PREFIX = "/api/v1/"
# A provider's code may look like a secret, and is one; it is repeated nowhere.
TYPED_AS_MEANT = (API_PREFIX, "/mcp", "/login/provider/answer/")

logger = logging.getLogger("retrycontract.requests")


class ClosedHeaders:
    """Say whence pages may load, that nobody embeds or keeps an answer, and that nothing of a device is needed."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        response.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        response.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        response.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
        response.setdefault("Cache-Control", "no-store")  # static files say how long they may be kept
        return response


class RequestLog:
    """Log each request: how it was asked, by which route, what was answered and how long that took.

    Every line meanwhile names the request and the trace that it belongs to, and the answer names them, too.
    Paths may hold anything, so only the route's template is told. The waiting room's own questions are
    logged once they are answered.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        forget()
        started = perf_counter()
        trace = read_traceparent(request.headers.get("traceparent"))
        request_id = usable_request_id(request.headers.get(REQUEST_ID))
        follow(request_id=request_id, traceparent=trace)
        try:
            response = self._get_response(request)
            response[REQUEST_ID] = request_id
            if trace is not None:
                response["traceparent"] = trace
            if not (PENDING_HEADER in request.headers and PENDING_HEADER in response):
                match = request.resolver_match
                fields = {
                    "method": request.method,
                    "route": f"/{match.route}" if match else None,
                    "status": response.status_code,
                    "duration_ms": round((perf_counter() - started) * 1000, 1),
                }
                logger.info(ANSWERED, extra=fields)
        finally:
            forget()
        return response


class SafeQueries:
    """Keep secrets out of what the pages of desk and admin repeat of their addresses: links, and what was looked for.

    They take the form in which identifiers are stored, so that what is looked for is found. NUL, for which PostgreSQL
    refuses to look, becomes the sign that stands for no character, in forms as well.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.META.get("QUERY_STRING"):
            as_meant = request.path_info.startswith(TYPED_AS_MEANT)
            if safe := _changed(request.GET, _without_nul if as_meant else lambda t: safe_identifier(_without_nul(t))):
                # Both: the request keeps the GET that was read above, and links are written from the text.
                request.META["QUERY_STRING"] = safe
                request.GET = QueryDict(safe)
        if request.method == "POST" and (safe := _changed(request.POST, _without_nul)):
            request.POST = QueryDict(safe)
        return self._get_response(request)


def _without_nul(text: str) -> str:
    return text.replace("\0", "\ufffd")


def _changed(fields: QueryDict, change: Callable[[str], str]) -> str:
    """Write names and values anew; empty where all stay as they are."""
    asked = [(name, value) for name, values in fields.lists() for value in values]
    safe = [(change(name), change(value)) for name, value in asked]
    return urlencode(safe) if safe != asked else ""


class HeadOfApi:
    """Answer HEAD below /api/ as GET at once and without its body; the API's routes name GET only."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method != "HEAD" or not request.path_info.startswith(API_PREFIX):
            return self._get_response(request)
        request.method = "GET"
        request.META[HEAD_ONLY] = True
        response = self._get_response(request)
        request.method = "HEAD"
        response.content = b""
        # Else the answer would be waited for, though a HEAD has no body to wait for.
        del response[PENDING_HEADER]
        return response


class ProblemResponses:
    """Answer every error below /api/ with a problem document, also those that Django writes as pages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        is_page = response.status_code >= 400 and response["Content-Type"] != CONTENT_TYPE
        if not is_page or not request.path_info.startswith(API_PREFIX):
            return response
        try:
            request.get_host()
        except DisallowedHost:
            return unknown_host()
        if isinstance(response, HttpResponseNotAllowed):
            allowed = response["Allow"]
            problem = problem_response(405, "method-not-allowed", f"This address takes {allowed}.")
            problem["Allow"] = allowed
            return problem
        if response.status_code == 404:
            return problem_response(404, "not-found", "Nothing has this address; see /api/v1/openapi.json.")
        return problem_response(response.status_code, "http-error", f"{response.reason_phrase}.")


class PagesOnly:
    """Put around the pages what only they need (`PAGE_MIDDLEWARE`); requests of agents go past it.

    A key decides about those alone: they have no session and no form. Middleware for pages may have `process_view`,
    and no other hook of Django's.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._pages: Callable[[HttpRequest], Any] = get_response
        self._views: list[Callable[..., HttpResponseBase | None]] = []
        for path in reversed(settings.PAGE_MIDDLEWARE):
            middleware = import_string(path)(self._pages)
            # As Django wraps each of its own, so that every middleware sees a response and no exception of the next
            # one.
            self._pages = convert_exception_to_response(middleware)
            if hasattr(middleware, "process_view"):
                # The chain is built from the inside, and Django asks `process_view` from the outside.
                self._views.insert(0, middleware.process_view)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(AGENTS_PREFIX):
            response: HttpResponse = self._pages(request)
            return response
        request.get_host()  # refuses foreign hosts, as CommonMiddleware does for pages
        return self._get_response(request)

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        """Ask the middleware of the pages, until one of them answers."""
        if request.path_info.startswith(AGENTS_PREFIX):
            return None
        answers = (process(request, view_func, view_args, view_kwargs) for process in self._views)
        return next((answer for answer in answers if answer is not None), None)


class PageLoginRequired(LoginRequiredMiddleware):
    """Ask for a login everywhere but below /api/, where keys decide."""

    def process_view(
        self, request: HttpRequest, view_func: Callable[..., HttpResponseBase], view_args: Any, view_kwargs: Any
    ) -> HttpResponseBase | None:
        """Let requests of the API through."""
        if request.path_info.startswith(API_PREFIX):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)
