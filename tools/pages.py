"""What the pages of docs/ that are made by a program share: their template and their tables."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jinja2

from alignset.cli.report import write_text

TOOLS = Path(__file__).parent
ROOT = TOOLS.parent
DOCS, PAPER = ROOT / "docs", ROOT / "paper"


def render(name: str, **values: Any) -> str:
    """Return the page that ``templates/NAME`` makes of the values, with a note on who made it."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TOOLS / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        autoescape=False,
    )
    maker = name.split(".")[0].split("/")[0]
    notice = f"<!-- made by tools/{maker}.py; edit tools/templates/{name} -->\n"
    return notice + environment.get_template(name).render(**values) + "\n"


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def percent(share: float, digits: int = 0) -> str:
    """Write a share in per cent."""
    return f"{100 * share:.{digits}f} %"


def count(value: Any) -> str:
    """Write a whole number."""
    return f"{int(value):,}"


def save_csv(path: Path, frame: Any) -> None:
    """Write a data frame as a CSV file whose bytes do not depend on the machine."""
    write_text(path, frame.to_csv(index=False, lineterminator="\n"))
