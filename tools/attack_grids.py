"""Give ``alignset run`` malformed grids: each key of a spec, its protocol and its space, spoilt.

    python tools/attack_grids.py

Every one must be refused in a line, or run: no traceback, no crash, nothing stuck. Each is run in
a process forked from this one. Writes docs/hardening/grids.md.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tally import counted, forked, verdict, write_page

from alignset.cli import main
from alignset.study import run as _warm  # noqa: F401  # imported before forking

SPEC = {
    "title": '"A grid"', "name": '"tiny"', "protocol": '"rules.toml#tiny"', "datasets": '["toy"]',
    "methods": '["standard"]', "seeds": "1", "configs": "1", "space": '"space.toml"',
    "noise.kind": '"by_features"', "noise.lowest": "true", "review.share": "0.3",
    "review.test": "0.2", "review.validation": "0.5", "config.lr": "0.01", "config.l2": "0.001",
    "vary.name": '"rate"', "vary.x": "[0.2]", 'vary."noise.rate"': "[[0.1, 0.2]]",
}  # fmt: skip
RULES = {
    "tiny.redraw": "true", "tiny.search": '"shared"', "tiny.trainer.max_epochs": "2",
    "tiny.trainer.n_batches": "2", "tiny.trainer.score": '"paper"',
    "tiny.trainer.stopping": '{ rule = "patience", epochs = 2 }', "tiny.trainer.last_relu": "true",
    "tiny.datasets.toy.source": '"synthetic"', "tiny.datasets.toy.rows": "300",
    "tiny.datasets.toy.hidden": "4", "tiny.methods.standard.class": '"Standard"',
    "tiny.methods.standard.fully_reviewed": "false",
}  # fmt: skip
SPACE = {"tiny.toy.all.lr": "[1e-3, 1e-2]", "tiny.toy.all.l2": "{ choice = [0.0, 0.1] }"}
FILES = {"spec.toml": SPEC, "rules.toml": RULES, "space.toml": SPACE}

DEEP = 3000
VALUES = {
    "minus one": "-1", "zero": "0", "a huge number": "1e308", "infinity": "inf", "NaN": "nan",
    "a number beyond 64 bits": str(2**70), "a huge whole number": str(10**12), "true": "true",
    "an empty text": '""', "a long text": '"' + "x" * 100_000 + '"',
    "markup": '"[/bold]\\u001b[31m"',
    "a text": '"other"', "an empty list": "[]", "a list of lists": "[[], [1]]",
    "a list of texts": '["a", "b"]', "a list of odd numbers": "[nan, -1, 1e400]",
    "an empty table": "{}", "a table": "{ a = 1 }", "a date": "2020-01-01",
    "nested lists": "[" * DEEP + "]" * DEEP, "nothing": None,
}  # fmt: skip
WHOLE = {
    "empty file": b"", "not UTF-8": b"name = '\xff\xfe'", "NUL bytes": b"\0" * 100,
    "no TOML": b"<html>", "unclosed text": b'name = "x', "a key twice": b"a = 1\na = 2",
    "a table twice": b"[a]\n[a]", "a deep key": b"a" + b".a" * 5000 + b" = 1",
    "deep tables": b"a = " + b"{a=" * 2000 + b"1" + b"}" * 2000,
    "a long number": b"a = 1" + b"0" * 5000,
    "only a comment": b"# nothing", "a list at the top": b"[[tiny]]\na = 1",
    "a text at the top": b'tiny = "x"',
    "specs that name themselves": b'[[specs]]\nfile = "spec.toml"',
    "specs of no file": b'[[specs]]\nfile = "gone.toml"', "specs of a number": b"specs = 3",
    "a folder": None,
}  # fmt: skip


def spoilt() -> Iterator[tuple[str, str, dict[str, bytes | None]]]:
    """Yield what is done to which key, and the files."""
    good = {name: _text(keys) for name, keys in FILES.items()}
    for name, keys in FILES.items():
        for key in keys:
            for what, value in VALUES.items():
                yield what, f"{name} {key}", {**good, name: _text({**keys, key: value})}
        for what, content in WHOLE.items():
            yield what, name, {**good, name: content}


def _text(keys: dict[str, str | None]) -> bytes:
    lines = [f"{key} = {value}" for key, value in keys.items() if value is not None]
    return "\n".join(lines).encode()


def attack() -> int:
    """Run all of them and write the page."""
    found: dict[str, Counter[str]] = {}
    total: Counter[str] = Counter()
    worst: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for what, where, files in spoilt():
            for name, content in files.items():
                path = place / name
                if path.is_dir():
                    path.rmdir()
                path.unlink(missing_ok=True)
                path.mkdir() if content is None else path.write_bytes(content)
            for old in place.glob("s.sqlite*"):
                old.unlink()
            command = ["run", str(place / "spec.toml"), "--store", str(place / "s.sqlite")]
            code, said = forked(lambda c=command: main([*c, "--jobs", "1"]))
            kind = verdict(code, said)
            if kind.startswith("refused") and len(said) > 5000:
                kind = "refused at length"
            found.setdefault(what, Counter())[kind] += 1
            total[kind] += 1
            if kind not in ("accepted", "refused in a line or two"):
                worst.append(f"{kind}: {what} at {where}: {said.strip().splitlines()[-1:]}"[:400])
    kinds = sorted(total)
    rows: list[list[object]] = [["what was put there", *kinds]]
    rows += [[what, *(own[kind] for kind in kinds)] for what, own in found.items()]
    rows.append(["all", *(total[kind] for kind in kinds)])
    write_page(
        "attack_grids.py", "Malformed grids",
        f"`alignset run` on {total.total()} grids in which one key of the spec, its protocol or "
        "its space, or a whole file, was replaced. \"Accepted\" ran: the value means something "
        "there, such as another title, or its cells failed and say why.", rows,
    )  # fmt: skip
    sys.stdout.write("\n".join(worst) + "\n")
    return counted(total, ["traceback", "crash", "too slow", "refused at length"])


if __name__ == "__main__":
    sys.exit(attack())
