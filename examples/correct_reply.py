"""Get an agent's reply into its schema, in correction turns that are about nothing else.

It runs without a key, against a model that answers from a script. With OPENAI_BASE_URL (and OPENAI_API_KEY, MODEL) a
real one is asked: any server that speaks OpenAI's chat will do.
"""

import os
import sys

from retrycontract.loops import ApiPatience, FormattingCorrectionExhaustedError, OpenAIModel, respond_with_correction

ASKED = [
    {"role": "system", "content": 'Answer with JSON: {"action": …, "parameters": {…}}.'},
    {"role": "user", "content": "Please move my appointment to Friday at ten."},
]
ANSWERS = iter(
    [
        "Sure, I will move it to Friday.",
        '{"action": "move_appointment", "params": {"day": "Friday", "time": "10:00"}}',
        '{"action": "move_appointment", "parameters": {"day": "Friday", "time": "10:00"}}',
    ]
)


def model():
    """Give the model that is asked."""
    if "OPENAI_BASE_URL" not in os.environ:
        return lambda _: next(ANSWERS)
    from openai import OpenAI

    return OpenAIModel(OpenAI(), os.environ.get("MODEL", "gpt-5-mini"))


def main():
    """Ask for the reply; a provider that is busy is waited for, and costs none of the model's attempts."""
    try:
        reply = respond_with_correction(
            model(), ASKED, task_id="appointments", turn=1, api_patience=ApiPatience(seconds=60),
            on_attempt=lambda record: print(f"{record.correction_attempt}: {record.status}"),
        )  # fmt: skip
    except FormattingCorrectionExhaustedError as error:
        sys.exit(f"{error}; the last reply was:\n\n{error.last_raw}")
    print(reply.action, reply.parameters)


if __name__ == "__main__":
    main()
