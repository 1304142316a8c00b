"""Give a client's message so that the SDK reads what was written, and no more than it can read quickly."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import mcp_types as types

from retrycontract.contract.outputs.json_text import FaultKind, members_of, read_json, with_whole_characters
from retrycontract.mcp import messages
from retrycontract.mcp.messages import Message, UnreadableMessageError
from retrycontract.mcp.visiting import FEW, most_values

MOST_BESIDE: Final = 50_000  # values beside a call's arguments: the SDK's parser keeps the interpreter to itself
UNREADABLE = "The message is no JSON-RPC message that can be read."
TOO_MANY = f"The message has more than {MOST_BESIDE:,} values beside a call's arguments: send fewer."
ONE_BY_ONE = "Messages come one at a time: send each of this list by itself."


class RefusedMessageError(ValueError):
    """Raised for a message that nobody can take; `answer` says so under its id."""

    def __init__(self, answer: Message) -> None:
        self.answer = answer
        super().__init__(UNREADABLE)


def readable(text: str) -> str:
    """Give a client's message so that the SDK reads what was written; raises RefusedMessageError.

    The SDK refuses the whole message for one half character in the arguments, takes the last of two equal keys, and
    tells nobody over a pipe. What a model wrote is judged: it is set apart, as text, where the SDK does not look.
    """
    is_wide = most_values(text) > FEW
    try:
        if is_wide:
            # Before any of it is decoded, which keeps the interpreter to itself for a tenth of a second each time.
            text = messages.set_apart(text, always=True)
            if most_values(text) > MOST_BESIDE:
                raise ValueError(UNREADABLE)  # noqa: TRY301 - answered as what cannot be read at all
        value, fault = read_json(text)
        if fault is not None or is_wide or messages.has_odd_arguments(value):
            text = messages.set_apart(text)
            _, fault = read_json(text)
            if fault is not None and fault.kind in (FaultKind.SURROGATE, FaultKind.ENCODING):
                text = with_whole_characters(text)
            read = messages.read_line(text)
            if isinstance(read, Message):
                value = read.value
                if read.has_two_methods or read.repeated:
                    raise ValueError(UNREADABLE)  # noqa: TRY301
        is_kept_waiting = isinstance(value, Mapping) and not _can_be_answered(value)
        if is_kept_waiting:
            raise ValueError(UNREADABLE)  # noqa: TRY301
        types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except (ValueError, RecursionError):
        raise RefusedMessageError(_unreadable(text)) from None
    return text


def _can_be_answered(message: Mapping[str, Any]) -> bool:
    """Tell a request's id from what the SDK takes for none: it would answer nothing, and the client wait for ever."""
    request_id = message.get("id", "")
    return "method" not in message or (isinstance(request_id, str | int) and not isinstance(request_id, bool))


def _unreadable(text: str) -> Message:
    if text.lstrip().startswith("["):
        return messages.failure(None, messages.INVALID_REQUEST, ONE_BY_ONE)
    has_too_many = most_values(text) > MOST_BESIDE
    try:
        read = messages.read_line(_without_values(text) if has_too_many else text)
    except UnreadableMessageError as error:
        return messages.failure(error.request_id, messages.PARSE_ERROR, UNREADABLE)
    request_id = read.id if isinstance(read, Message) and _can_be_answered(read.value) else None
    return messages.failure(request_id, messages.INVALID_REQUEST, TOO_MANY if has_too_many else UNREADABLE)


def _without_values(text: str) -> str:
    """Leave of a message of too many values what answers it: its id, and that it has a method."""
    with suppress(ValueError):
        members = members_of(text)
        return f'{{"method": {members.get("method", "null")}, "id": {members.get("id", "null")}}}'
    return ""
