"""How long a search for words takes in the texts of many calls, on SQLite: `python -m benchmarks.search 200000`.

Each text has a goal and some values, of words that are as rare and as common as words are; each search has another word
in it. Only the look into the words is measured: what it finds are at most 500 keys, which any list reads by.
"""

from __future__ import annotations

import os
import random
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import django

SEARCHES = 300
VOCABULARY = 20_000
WORDS = 25  # of one call
BATCH = 5_000


def main() -> None:
    """Write the texts, search in them and print what it took."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    os.environ["DJANGO_SETTINGS_MODULE"] = "retrycontract.settings"
    with TemporaryDirectory() as folder:
        os.environ["RETRYCONTRACT_DATA_DIR"] = folder
        django.setup()
        from django.db import transaction

        from retrycontract.store import call_texts

        chance = random.Random(1)  # noqa: S311 - no secret
        words = [
            "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 10))) for _ in range(VOCABULARY)
        ]
        weights = [1 / (rank + 1) for rank in range(VOCABULARY)]  # as words are: few are in most texts
        call_texts.prepare()
        for begin in range(1, number + 1, BATCH):
            with transaction.atomic():
                drawn = chance.choices(words, weights, k=BATCH * WORDS)
                call_texts.write((begin + n, drawn[n * WORDS : (n + 1) * WORDS], 1) for n in range(BATCH))
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
        for name, sought in (
            ("one word", lambda: chance.choice(words)),
            ("two common words", lambda: " ".join(words[chance.randrange(50)] for _ in range(2))),
            ("the beginning of one", lambda: chance.choice(words)[:3]),
        ):
            took = []
            for _ in range(SEARCHES):
                text, started = sought(), time.perf_counter()
                call_texts.find(text, most=500)
                took.append(time.perf_counter() - started)
            took.sort()
            print(f"{name}: p50 {took[len(took) // 2] * 1e3:.2f} ms, p95 {took[int(len(took) * 0.95)] * 1e3:.2f} ms")
        print(f"{number:,} calls, {size / number:.0f} bytes each")


if __name__ == "__main__":
    main()
