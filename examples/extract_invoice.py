"""Extract an invoice from text as an instance of a pydantic model, and say what it cost.

It runs without a key, against a model that answers from a script. With OPENAI_BASE_URL (and OPENAI_API_KEY, MODEL) a
real one is asked: any server that speaks OpenAI's chat with tools will do.
"""

import os
import sys
from typing import Literal

from pydantic import BaseModel

from retrycontract.loops import Completion, MaxRetriesExceeded, OpenAIModel, Rejected, ToolCall, extract

LETTER = "Invoice 2027-114 of Acme Ltd. Total due: 1,250.50 euros, payable within 30 days."


class Invoice(BaseModel):
    """What we want to know of an invoice."""

    number: str
    total: float
    currency: Literal["EUR", "USD", "GBP"]


def submits(data):
    """Make the turn of a model that submits data."""
    return Completion("", (ToolCall("c1", "submit", {"data": data}),))


ANSWERS = iter(
    [
        submits({"number": "2027-114", "total": "1,250.50", "currency": "euro"}),
        Completion('The invoice is {"number": "2027-114", "total": 1250.5, "currency": "EUR"}.'),
        submits({"number": "2027-114", "total": 1250.5, "currency": "EUR"}),
    ]
)


def model():
    """Give the model that is asked."""
    if "OPENAI_BASE_URL" not in os.environ:
        return lambda _, tools: next(ANSWERS)  # noqa: ARG005 - it is asked with tools
    from openai import OpenAI

    return OpenAIModel(OpenAI(), os.environ.get("MODEL", "gpt-5-mini"))


def book(invoice):
    """Take the invoice over, or say why not: the model reads the reason, and it costs an attempt."""
    if invoice.total <= 0:
        raise Rejected("The total must be more than nothing; look for it again.")


def main():
    """Extract the invoice."""
    try:
        invoice, metrics = extract(model(), Invoice, LETTER, on_submit=book)
    except MaxRetriesExceeded as error:
        sys.exit(f"{error}; the model said:\n\n{error.raw_output}")
    print(invoice)
    print(f"{metrics.attempts} attempts, {metrics.tokens_in} tokens read and {metrics.tokens_out} written")


if __name__ == "__main__":
    main()
