"""What every body and query has in common: fields that nobody knows are refused, and told with those that are known."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

MOST_TOLD = 100  # faults of one object that are told on: an answer names 20 of all of them
NO_FIELD = "extra_forbidden"


class Strict(BaseModel):
    """Refuse fields that the API does not know: a misspelt option must not be ignored."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _tell_known(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Give those who say what is wrong the names of the fields that there are; Pydantic does not."""
        try:
            return handler(given)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False)[:MOST_TOLD]
            if not any(_is_no_field(fault) for fault in faults):
                raise
            raise ValidationError.from_exception_data(error.title, [cls._told(fault) for fault in faults]) from None

    @classmethod
    def _told(cls, fault: Any) -> InitErrorDetails:
        context = {"known": list(cls.model_fields)} if _is_no_field(fault) else fault.get("ctx", {})
        return {"type": PydanticCustomError(fault["type"], fault["msg"], context), "loc": fault["loc"], "input": None}


def _is_no_field(fault: Any) -> bool:
    return fault["type"] == NO_FIELD and len(fault["loc"]) == 1  # of this object: one within it has told its own
