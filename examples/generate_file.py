"""Write a Python file that passes its own check, or no file at all.

It runs without a key, against a model that answers from a script. With OPENAI_BASE_URL (and OPENAI_API_KEY, MODEL) a
real one is asked: any server that speaks OpenAI's chat will do.
"""

import os
import sys

from retrycontract import ErrorCode, ValidationError
from retrycontract.loops import ImplementationError, OpenAIModel, generate_file_with_retry

TASK = "Write a Python module with a function `slug(title)` that turns a title into a URL slug. Document the function."
ANSWERS = iter(
    [
        "<think>Regex or loop?</think>I'm sorry, but I can't write files.",
        "Here you are:\n\n```python\nimport re\n\ndef slug(title:\n    return title\n```",
        (
            '```python\nimport re\n\n\ndef slug(title):\n    """Turn a title into a URL slug."""\n'
            '    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")\n```'
        ),
    ]
)


def documented(source):
    """Check what no compiler does: any linter or test may stand here."""
    if '"""' not in source:
        yield ValidationError(ErrorCode.CONSTRAINT_VIOLATION, "", "Value violates constraint: slug has no docstring")


def model():
    """Give the model that is asked."""
    if "OPENAI_BASE_URL" not in os.environ:
        return lambda _: next(ANSWERS)
    from openai import OpenAI

    return OpenAIModel(OpenAI(), os.environ.get("MODEL", "gpt-5-mini"))


def main(target="slug.py"):
    """Ask until the file passes; it is written in one step, and only then."""
    try:
        source, _ = generate_file_with_retry(
            "slug.py", TASK, model=model(), checks=[documented], write_to=target,
            on_attempt=lambda context: print(f"Attempt {context.attempt + 1} of {context.max_attempts}"),
        )  # fmt: skip
    except ImplementationError as error:
        sys.exit(f"{error}\n\n{error.last_error}")
    print(source)


if __name__ == "__main__":
    main(*sys.argv[1:])
