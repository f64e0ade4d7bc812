"""Lines as files for other programs: CSV that no spreadsheet runs, and JSONL, which is the reference.

Pure: from rows to lines of text.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from console.hostile import plain

JSON = Any

#: A cell that begins so is a formula to a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, JSON]]) -> Iterator[str]:
    """A header and one line for each row."""
    yield _csv_line(columns)
    for row in rows:
        yield _csv_line([cell(row.get(column)) for column in columns])


def _csv_line(cells: Sequence[str]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerow(cells)
    return written.getvalue()


def cell(value: JSON) -> str:
    """A value as the text of a cell: never a formula, and nothing in it invisible."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = str(plain(text))
    return f"'{shown}" if text.startswith(_FORMULA) or shown.startswith(_FORMULA) else shown


def jsonl_lines(rows: Iterable[Mapping[str, JSON]]) -> Iterator[str]:
    """One JSON object on each line, every character as it is."""
    for row in rows:
        yield json.dumps(dict(row), ensure_ascii=False, separators=(",", ":")) + "\n"
