"""The papers behind the methods, read from ``references.bib``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reference:
    """One entry of a bibliography."""

    key: str
    kind: str
    text: str

    @property
    def fields(self) -> Mapping[str, str]:
        """Author, title and the like, by name."""
        return dict(re.findall(r"^ *(\w+) *= *\{(.*)\},?$", self.text, re.MULTILINE))

    @property
    def year(self) -> int:
        """Year of publication."""
        return int(self.fields["year"])

    @property
    def short(self) -> str:
        """Who wrote it, as in running text."""
        family = [name.split(",")[0].strip("{}") for name in self.fields["author"].split(" and ")]
        return " & ".join(family) if len(family) < 3 else f"{family[0]} et al."

    def bibtex(self) -> str:
        """Return the BibTeX entry."""
        return self.text


def read_bibtex(text: str) -> dict[str, Reference]:
    """Read entries by key; each ends with a brace that has a line of its own."""
    entries = re.finditer(r"^@(\w+)\{([^,]+),.*?^\}", text, re.MULTILINE | re.DOTALL)
    return {found[2]: Reference(found[2], found[1], found[0]) for found in entries}


REFERENCES = read_bibtex(Path(__file__).with_name("references.bib").read_text(encoding="utf-8"))
"""Key -> entry; ``alignset`` is this software."""
