"""Middleware of the pages, kept away from the agents' door."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

Handler = Callable[[HttpRequest], HttpResponse]
API_PREFIX = "/api/"


class PagesOnly:
    """Run PAGE_MIDDLEWARE for everything but the agents' API, which has no session and no form."""

    def __init__(self, get_response: Handler) -> None:
        self._api = get_response
        self._pages = get_response
        for path in reversed(settings.PAGE_MIDDLEWARE):
            self._pages = import_string(path)(self._pages)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._api(request) if request.path_info.startswith(API_PREFIX) else self._pages(request)
