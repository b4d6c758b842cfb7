"""List the odd tables that the tests read, with what becomes of each, in docs/data/tables.md.

    python tools/list_odd_tables.py --write

The tables are made by tests/tables/odd_tables.py; the page's text around them is written by hand.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "data" / "tables.md"
BEGIN, END = "<!-- odd tables: made by tools/list_odd_tables.py -->", "<!-- end of odd tables -->"


def listed() -> str:
    """Return the tables of odd tables and odd columns as Markdown."""
    sys.path.insert(0, str(ROOT / "tests"))
    from tables.odd_tables import COLUMNS, ODD

    lines = []
    for part, odds in ODD.items():
        lines += [f"### {part}", "", "| table | file | asked for | outcome |", "|---|---|---|---|"]
        lines += [_row(odd.name, odd.file, _asked(odd), _outcome(odd)) for odd in odds] + [""]
    lines += ["### Columns in a fit", "", "| column | such as | options | outcome |"]
    lines += ["|---|---|---|---|"]
    for odd in COLUMNS:
        such = f"`{odd.cells(5)}`"
        outcome = f"refused: {odd.refused}" if odd.refused else odd.holds or "left out, with a note"
        lost = f"; lost: {odd.lost}" if odd.lost else ""
        lines.append(_row(odd.name, such, f"`{' '.join(odd.options)}`" if odd.options else "",
                          f"{outcome}{lost}"))  # fmt: skip
    return "\n".join(lines)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _asked(odd: Any) -> str:
    names = {"separator": "--sep", "sheet": "--sheet-name", "keep_na": "--keep-na"}
    told = [
        f"{names.get(name, f'--{name}')} {' '.join(value) if name == 'keep_na' else value}"
        for name, value in odd.options.items()
    ]
    told += [f"--id {name}" for name in odd.as_text]
    return f"`{' '.join(told)}`" if told else ""


def _outcome(odd: Any) -> str:
    if odd.refused:
        return f"refused: {odd.refused}"
    first = ", ".join(f"{name} = {_cell(values[0])}" for name, values in odd.read.items())
    notes = "".join(f"; note: {note}" for note in odd.notes)
    return f"`{first}`{notes}"


def _cell(value: Any) -> str:
    return repr(value) if isinstance(value, str) else "gap" if value is None else str(value)


def page() -> str:
    """Return the page with the tables as they are now."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{listed()}\n\n{END}{after}"


def main() -> None:
    """Write the page, or say whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        PAGE.write_text(page(), encoding="utf-8")
    print("up to date" if PAGE.read_text(encoding="utf-8") == page() else "out of date: --write")


if __name__ == "__main__":
    main()
