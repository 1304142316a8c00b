"""Django's templates, which let go of what a page was made of as soon as it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.template.backends.django import DjangoTemplates, Template
from django.template.context import make_context

if TYPE_CHECKING:
    from django.http import HttpRequest


# What its pages show, in layers that further contexts hold.
OF_THE_ADMIN: Final = ("adminform", "original")


class LettingGo(DjangoTemplates):
    """Give templates that keep nothing of a page."""

    def from_string(self, template_code: str) -> Template:
        """Give the template that a text holds."""
        return _Page(super().from_string(template_code).template, self)

    def get_template(self, template_name: str) -> Template:
        """Give a template by its name."""
        return _Page(super().get_template(template_name).template, self)


class _Page(Template):
    def render(self, context: dict[str, Any] | None = None, request: HttpRequest | None = None) -> Any:
        made = make_context(context, request, autoescape=self.backend.engine.autoescape)
        try:
            return self.template.render(made)
        finally:
            # Django's context and its layers hold each other: a page of a long history would stay, all 29 MB that it
            # was made of, until the collector comes, which is told to come seldom.
            for layer in made.dicts:
                for name in OF_THE_ADMIN:
                    layer.pop(name, None)
            made.dicts.clear()
