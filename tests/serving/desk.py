"""An operator at the desk without JavaScript: pages and forms over HTTP, as a browser without scripts sends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from urllib.error import HTTPError
from urllib.parse import urlencode, urljoin
from urllib.request import HTTPCookieProcessor, OpenerDirector, Request, build_opener

from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from tests.serving.service import Service

# An answer that cannot be sent, or that came second: the page says why and keeps what was typed.
REFUSED = (409, 422)
TOKEN = "csrfmiddlewaretoken"


@dataclass
class Form:
    """A form of a page: where it goes and what it holds already."""

    action: str = ""
    method: str = "get"
    enctype: str = ""
    values: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    def encoded(self, fields: Mapping[str, str | list[str]]) -> tuple[bytes, dict[str, str]]:
        """Give the body of what is sent, and its header, in the manner that the form names."""
        values = self.values | dict(fields)
        if self.enctype == "multipart/form-data":
            return encode_multipart(BOUNDARY, values), {"Content-Type": MULTIPART_CONTENT}
        return urlencode(values, doseq=True).encode(), {}


class _Forms(HTMLParser):
    """Collect the forms of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self._textarea: str | None = None
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "form":
            form = Form(found.get("action", ""), found.get("method", "get").lower(), found.get("enctype", ""))
            self.forms.append(form)
            self._open = True
        elif self._open and "name" in found and tag == "button":
            self.forms[-1].names.add(found["name"])
        elif self._open and "name" in found and tag in ("input", "textarea", "select"):
            form, name = self.forms[-1], found["name"]
            form.names.add(name)
            if tag == "textarea":
                self._textarea = name
                form.values[name] = ""
            elif found.get("type") not in ("radio", "checkbox", "submit") or "checked" in dict(attrs):
                form.values[name] = found.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = False
        elif tag == "textarea":
            self._textarea = None

    def handle_data(self, data: str) -> None:
        if self._textarea is not None:
            self.forms[-1].values[self._textarea] += data


@dataclass
class Desk:
    """A session of one operator."""

    service: Service
    opener: OpenerDirector = field(default_factory=lambda: build_opener(HTTPCookieProcessor(CookieJar())))

    def log_in(self, name: str = "operator", password: str | None = None) -> None:
        """Log in; fails when the desk does not let us."""
        fields = {"username": name, "password": password or self.service.operator_password}
        page = self.submit("/login/", "password", fields)
        assert 'name="password"' not in page, "the login failed"

    def get(self, path: str) -> str:
        """Read a page."""
        return self._open(Request(urljoin(self.service.url, path)))

    def answer(self, call_id: str, **fields: str) -> str:
        """Answer a Blocked call with the form of its page."""
        return self.submit(f"/calls/{call_id}/", "decision", {"decision": "hint", **fields})

    def submit(self, path: str, with_field: str, fields: Mapping[str, str | list[str]]) -> str:
        """Fill in and send the form of a page that has a certain field; returns the page that follows."""
        return self.open_form(path, with_field)(fields)

    def post(self, path: str, fields: Mapping[str, str]) -> str:
        """Send fields that no form need have; returns the page that follows."""
        parser = _Forms()
        parser.feed(self.get("/settings/"))
        token = next(form.values[TOKEN] for form in parser.forms if TOKEN in form.names)
        target = urljoin(self.service.url, path)
        return self._open(Request(target, urlencode({TOKEN: token, **fields}).encode(), {"Referer": target}))

    def press(self, path: str, action: str) -> str:
        """Press the button of a page whose form goes to an address; returns the page that follows."""
        return self._fill_in(path, lambda form: form.action == action)({})

    def open_form(self, path: str, with_field: str) -> Callable[[Mapping[str, str | list[str]]], str]:
        """Read the form of a page, to be filled in and sent later."""
        return self._fill_in(path, lambda form: with_field in form.names and form.method == "post")

    def _fill_in(self, path: str, is_meant: Callable[[Form], bool]) -> Callable[[Mapping[str, str | list[str]]], str]:
        parser = _Forms()
        parser.feed(self.get(path))
        form = next(filter(is_meant, parser.forms))
        target = urljoin(self.service.url + path, form.action or path)
        headers = {"Referer": self.service.url + path}

        def send(fields: Mapping[str, str | list[str]]) -> str:
            assert set(fields) <= form.names, set(fields) - form.names
            body, of_body = form.encoded(fields)
            return self._open(Request(target, body, headers | of_body))

        return send

    def _open(self, request: Request) -> str:
        try:
            with self.opener.open(request, timeout=30) as response:
                return str(response.read().decode("utf-8"))
        except HTTPError as error:
            if error.code in REFUSED:
                return error.read().decode("utf-8")
            raise AssertionError(f"{request.full_url}: {error.code}\n{error.read().decode('utf-8')[:2000]}") from None
