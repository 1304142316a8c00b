"""Tables as files: CSV that no spreadsheet takes for formulas, and JSON lines; row by row."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from django.http import StreamingHttpResponse

FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
TYPES: Final = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}


class _CsvLine:
    """Stand for a file: what is written is given back."""

    def write(self, text: str) -> str:
        return text


def export(name: str, kind: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> StreamingHttpResponse:
    """Answer with a file of rows, in the kind csv or jsonl."""
    lines = csv_lines(columns, rows) if kind == "csv" else json_lines(columns, rows)
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return StreamingHttpResponse(lines, content_type=TYPES[kind], headers=headers)


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Write rows as CSV; text that a spreadsheet would run begins with an apostrophe."""
    writer = csv.writer(_CsvLine())
    yield str(writer.writerow(columns))
    for row in rows:
        yield str(writer.writerow([_cell(value) for value in row]))


def json_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Write each row as an object on a line of its own."""
    for row in rows:
        yield json.dumps(dict(zip(columns, map(_plain, row), strict=True))) + "\n"


def _cell(value: Any) -> Any:
    plain = json.dumps(value) if isinstance(value, dict) else _plain(value)
    return f"'{plain}" if isinstance(plain, str) and plain.startswith(FORMULA_STARTS) else plain


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value
