"""The cases of ``attack_tables.py``: hostile tables, sheets, exports, numbers and options."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pickle
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROWS = 80
HEADER = "pid,age,sex,visit,smoker,obs,reviewed"


@dataclass(frozen=True)
class Case:
    """A command, and what must hold if it succeeds: ``check`` returns what does not."""

    area: str
    name: str
    argv: list[Any]
    check: Callable[[], str | None] | None = None


@dataclass(frozen=True)
class Shared:
    """What cases share: a good table, its lines, a model fitted to it, and reviews of it."""

    table: Path
    lines: list[str]
    model: Path
    predicted: Path  # by the model, of the good table
    sheet: Path  # filled in, with its design beside it
    reviewed: Path  # the table with the answers of two people, and their log beside it


def prepare(folder: Path, run: Callable[[Case], int]) -> Shared:
    """Write a good table and fit a model to it, in another process: ``run`` starts it."""
    rng = np.random.default_rng(0)
    lines = [HEADER]
    for i in range(ROWS):
        age, sex = rng.normal(60, 9), "fm"[i % 2]
        true = int(age > 60)
        seen = true if rng.random() < 0.8 else 1 - true
        day = f"20{10 + i % 12}-{1 + i % 12:02}-{1 + i % 28:02}"
        told = str(true) if i % 4 < 2 else ""
        smokes = bool(rng.random() < 0.3)
        lines.append(f"{i + 49000:08},{age:.2f},{sex},{day},{smokes},{seen},{told}")
    table, model = folder / "good.csv", folder / "model"
    table.write_text("\n".join(lines) + "\n")
    predicted, reviews, people = folder / "p.csv", folder / "reviews", folder / "people"
    for made in (reviews, people):
        made.mkdir()
    draw = ["sample", table, "--n", "20", "--label", "obs", "--group", "sex", "--id", "pid"]
    shown = [*draw, "--show", "age", "-o"]
    sheets = [people / f"drawn.{name}.csv" for name in ("anna", "ben")]
    reviewed = people / "reviewed.csv"
    for argv in (
        fit(table, model),
        ["predict", model, table, "-o", predicted],
        [*shown, reviews / "drawn.csv"],
        [*draw, "--seed", "5", "-o", reviews / "other.csv"],
        [*shown, people / "drawn.csv", "--reviewers", "anna,ben", "--twice", "0.5"],
    ):
        _must(run, argv)
    for number, sheet in enumerate((reviews / "drawn.csv", *sheets)):
        _fill_in(sheet, number)
    _must(run, ["join", *sheets, table, "--truth", "found", "-o", reviewed])
    return Shared(table, lines, model, predicted, reviews / "drawn.csv", reviewed)


def _must(run: Callable[[Case], int], argv: list[Any]) -> None:
    if run(Case("good", str(argv[0]), argv)):
        raise SystemExit(f"{' '.join(map(str, argv))} fails, which every case needs")


def _fill_in(sheet: Path, number: int) -> None:
    """Answer most rows of a sheet; people differ in some of them."""
    frame = pd.read_csv(sheet, dtype=str, keep_default_na=False)
    old = frame["age"].astype(float) > 60
    frame["reviewed"] = [
        "" if number == 0 and i % 4 == 3 else str(int(x) ^ (i % 5 == number))
        for i, x in enumerate(old)
    ]
    frame.to_csv(sheet, index=False)


def fit(table: Path, out: Path) -> list[Any]:
    """Return the quickest fit."""
    return [
        "fit",
        table,
        "--label",
        "obs",
        "--truth",
        "reviewed",
        "--group",
        "sex",
        "--id",
        "pid",
        "--method",
        "observed_linear",
        "--folds",
        "2",
        "--jobs",
        "1",
        "--out",
        out,
    ]


# what must hold


def read_ids(path: Path, name: str = "pid") -> list[str]:
    """Return the ids of a plain CSV file as they are written."""
    with path.open(newline="", encoding="utf-8") as stream:
        return [row[name] for row in csv.DictReader(stream)]


def ids_survive(table: Path, out: Path) -> str | None:
    """Predictions have the ids of the table, in order, and probabilities."""
    frame = pd.read_csv(out, dtype=str, keep_default_na=False)
    scores = frame[[c for c in frame if c.startswith("p_")]].astype(float)
    if not ((scores >= 0) & (scores <= 1)).all(axis=None):
        return "a probability is not one"
    try:
        expected = read_ids(table)
    except (UnicodeDecodeError, KeyError, csv.Error, EOFError):
        return None  # only plain text can be compared
    return None if frame["pid"].tolist() == expected else "ids changed, or rows were lost"


def drawn_from(table: Path, sheet: Path, n: int) -> str | None:
    """Say if a sheet does not have n rows of the table."""
    from alignset.review.cells import read_cell

    ids = pd.read_csv(sheet, dtype=str, keep_default_na=False)["pid"].tolist()
    if len(set(ids)) != n:
        return f"the sheet has {len(set(ids))} rows instead of {n}"
    try:
        expected = set(read_ids(table))
    except (UnicodeDecodeError, KeyError, csv.Error, EOFError):
        return None
    plain = {read_cell(i) for i in ids}
    return None if plain <= expected else f"ids that are not in the table: {plain - expected}"


def answers_arrive(sheet: Path, out: Path, answers: dict[str, str]) -> str | None:
    """Every answer, and nothing else, is in the row with its id."""
    del sheet
    frame = pd.read_csv(out, dtype=str, keep_default_na=False)
    found = {i: r for i, r in zip(frame["pid"], frame["found"], strict=True) if r}
    return None if found == answers else f"answers {answers} became {found}"


# tables


def text_tables(lines: list[str]) -> Iterator[tuple[str, str, bytes]]:
    """Yield (name, file name, content) of malformed text tables."""
    good, head, body = "\n".join(lines) + "\n", lines[0], lines[1:]

    def put(name: str, text: str, encoding: str = "utf-8", suffix: str = "csv") -> Any:
        return name, f"t.{suffix}", text.encode(encoding, "surrogatepass")

    def column(at: int, values: Callable[[int, str], str]) -> str:
        rows = [row.split(",") for row in body]
        for i, row in enumerate(rows):
            row[at] = values(i, row[at])
        return "\n".join([head, *(",".join(row) for row in rows)]) + "\n"

    yield put("empty", "")
    for name, text in {
        "line break": "\n",
        "header": head,
        "header and break": head + "\n",
        "one row": "\n".join(lines[:2]),
        "more fields": good + "1,2,3,4,5,6,7,8,9\n",
        "fewer fields": good + "1,2\n",
        "one field": good + "x\n",
        "doubled name": good.replace("age", "sex", 1),
        "no name": good.replace("age", "", 1),
        "spaces around names": good.replace(",", " , "),
        "old line ends": good.replace("\n", "\r"),
        "windows line ends": good.replace("\n", "\r\n"),
        "blank lines": good + "\n" * 100_000,
        "nul in a cell": good.replace(",f,", ",\0f,", 1),
        "nul in the header": good.replace("age", "a\0ge", 1),
        "nuls only": "\0" * 1000,
        "quote left open": good.replace(",f,", ',"f,', 1),
        "quote in the header": '"' + good,
        "quote closed later": good.replace(",f,", ',"f,', 2),
        "quotes inside": good.replace(",f,", ',f"f,'),
        "cell of 131 073": good.replace(",f,", f",{'x' * 131_073},", 1),
        "name of 131 073": good.replace("age", "a" * 131_073, 1),
        "cell of 10 MB": good.replace(",f,", f",{'x' * 10**7},", 1),
        "quoted cell of 10 MB": good.replace(",f,", f',"{"x" * 10**7}",', 1),
        "tabs": good.replace(",", "\t"),
        "pipes": good.replace(",", "|"),
        "semicolons": good.replace(",", ";"),
        "only commas": "," * 1000 + "\n" + "," * 1000,
        "html": "<html><body>not found</body></html>",
        "json": json.dumps([{"a": 1}] * 9),
        "surrogates": good.replace("f", "\ud800"),
    }.items():
        yield put(name, text)
    for encoding in (
        "utf-8-sig",
        "utf-16",
        "utf-16-le",
        "utf-16-be",
        "utf-32",
        "cp1252",
        "utf-7",
        "cp500",
    ):
        yield put(encoding, good.replace(",f,", ",fé,"), encoding)
    yield "no encoding", "t.csv", good.encode().replace(b",f,", b",\x81\xff,")
    yield "random bytes", "t.csv", np.random.default_rng(0).bytes(5000)
    wide = [",".join([row, *(["1"] * 20_000)]) for row in body]
    names = ",".join([head, *(f"c{i}" for i in range(20_000))])
    yield put("20 000 columns", "\n".join([names, *wide]) + "\n")
    numbers = {
        "5 000 digits": "9" * 5000,
        "1e308": "1e308",
        "1e-310": "1e-310",
        "inf": "inf",
        "-inf": "-inf",
        "1e999": "1e999",
        "nan": "nan",
        "hex": "0x1F",
        "thousands": "1 000",
        "comma": '"1,5"',
        "underscore": "1_000",
        "arabic digits": "١٢٣",
        "text": "old",
        "formula": "=1+1",
        "2**64": str(2**64),
        "quote": "'",
        "minus zero": "-0.0",
    }
    for name, value in numbers.items():
        yield put(f"one number {name}", column(1, lambda i, old, v=value: v if i == 7 else old))
        yield put(f"every number {name}", column(1, lambda i, old, v=value: v))
    labels = {
        "one class": lambda i, old: "1",
        "many classes": lambda i, old: str(i),
        "beyond 64 bits": lambda i, old: str(2**70 + int(old)),
        "2**63": lambda i, old: str(2**63 + int(old)),
        "missing": lambda i, old: "" if i == 3 else old,
        "mixed": lambda i, old: "yes" if i % 2 else old,
        "halves": lambda i, old: "0.5" if i == 3 else old,
        "floats": lambda i, old: f"{old}.0",
        "booleans": lambda i, old: str(old == "1"),
        "5 000 digits": lambda i, old: old * 5000,
        "padded": lambda i, old: f"0{old}",
        "inf": lambda i, old: "inf",
        "markup": lambda i, old: f"[/b{old}]",
        "escape": lambda i, old: f"\x1b[3{old}m",
        "spaces": lambda i, old: f" {old}",
        "dates": lambda i, old: f"2020-01-0{1 + int(old)}",
    }
    for name, change in labels.items():
        yield put(f"labels {name}", column(5, change))
    groups = {
        "markup": "[/bold]",
        "open markup": "[red",
        "escape": "\x1b[31mred",
        "bell": "a\x07",
        "emoji": ":smile:",
        "long": "g" * 5000,
        "right to left": "\u202eevil",
        "line break": '"a\nb"',
        "empty": "",
        "percent": "%s%n",
        "braces": "{0.__class__}",
        "script": "<script>alert(1)</script>",
        "formula": "=cmd|' /C calc'!A0",
        "zero width": "a\u200b",
        "nul": "a\0b",
    }
    for name, value in groups.items():
        yield put(f"group {name}", column(2, lambda i, old, v=value: v if old == "f" else old))
    yield put("100 groups", column(2, lambda i, old: f"g{i}"))
    for day in (
        "0000-00-00",
        "9999-12-31",
        "2020-02-30",
        "2020-13-01",
        "1600-01-01",
        "2020-01-01T25:00",
        "20200101",
        "-2020-01-01",
    ):
        yield put(f"date {day}", column(3, lambda i, old, v=day: v if i == 2 else old))
        yield put(f"every date {day}", column(3, lambda i, old, v=day: v))
    ids = {
        "doubled": lambda i, old: "7" if i < 2 else old,
        "missing": lambda i, old: "" if i == 3 else old,
        "alike": lambda i, old: ("1", "1.0", " 1")[i] if i < 3 else old,
        "floats": lambda i, old: f"{int(old)}.0",
        "formulas": lambda i, old: f"=A{i}",
        "escapes": lambda i, old: f"\x1b[{i}m",
        "long": lambda i, old: old * 1000,
        "NA": lambda i, old: "NA" if i == 3 else old,
        "20 digits": lambda i, old: f"{10**20 + i}",
        "quotes": lambda i, old: f"'{i}",
    }
    for name, change in ids.items():
        yield put(f"ids {name}", column(0, change))
    for name, cells in {
        "wave inf": "1,inf,0.5",
        "wave 1.5": "1,1.5,0.5",
        "wave 1e30": "1,1e30,0.5",
        "wave text": "1,x,0.5",
        "wave -1": "1,-1,0.5",
        "probability 2": "1,1,2",
        "probability 0": "1,1,0",
        "probability nan": "1,1,nan",
        "probability text": "1,1,x",
        "stratum missing": ",1,0.5",
        "nothing": ",,",
        "good": "1,1,0.5",
    }.items():
        drawn = [f"{row},{cells}" for row in body]
        yield put(f"design {name}", "\n".join([f"{head},stratum,wave,probability", *drawn]) + "\n")


def packed_tables(lines: list[str]) -> Iterator[tuple[str, str, bytes]]:
    """Yield damaged and hostile .gz files."""
    good = ("\n".join(lines) + "\n").encode()
    whole = gzip.compress(good)
    yield "gz", "t.csv.gz", whole
    yield "gz cut", "t.csv.gz", whole[: len(whole) // 2]
    yield "gz changed", "t.csv.gz", whole[:40] + b"\xff" * 9 + whole[49:]
    yield "no gz", "t.csv.gz", good
    yield "gz of nothing", "t.csv.gz", gzip.compress(b"")
    yield "gz twice", "t.csv.gz", gzip.compress(whole)
    yield "gz and garbage", "t.csv.gz", whole + b"garbage"
    yield "gz bomb of rows", "t.csv.gz", bomb(good, (lines[1] + "\n").encode())
    yield "gz bomb of one line", "t.csv.gz", bomb(good, b"x" * 64)
    yield "gz bomb in xpt", "t.xpt.gz", bomb(b"HEADER RECORD*******LIBRARY", b"\0" * 64)


def bomb(start: bytes, piece: bytes, size: int = (1 << 30) + (1 << 25)) -> bytes:
    """Return a .gz file that unpacks to over a gibibyte."""
    out = io.BytesIO()
    block = piece * ((1 << 22) // len(piece))
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6) as stream:
        stream.write(start)
        for _ in range(size // len(block)):
            stream.write(block)
    return out.getvalue()


def arrow_tables(lines: list[str]) -> Iterator[tuple[str, str, bytes]]:
    """Yield Parquet and Feather files with columns that no table has, and damaged ones."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    frame = pd.read_csv(io.StringIO("\n".join(lines)), dtype={"pid": str})
    good, n = pa.Table.from_pandas(frame), len(frame)
    bad = pa.array(["ok"] * n).cast(pa.binary())
    bad = pa.Array.from_buffers(pa.string(), n, pa.array([b"\xff\xfe"] * n).buffers())
    extra = {
        "list": pa.array([[1, 2]] * n),
        "struct": pa.array([{"a": 1}] * n),
        "map": pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int64())),
        "binary": pa.array([b"\xff"] * n),
        "bad UTF-8": bad,
        "null": pa.nulls(n),
        "uint64": pa.array([2**64 - 1] * n, pa.uint64()),
        "decimal": pa.array([1] * n, pa.decimal128(38, 3)),
        "duration": pa.array([5] * n, pa.duration("s")),
        "time": pa.array([5] * n, pa.time32("s")),
        "far date": pa.array([10**6] * n, pa.date32()),
        "far timestamp": pa.array([2**62] * n, pa.timestamp("s")),
        "dictionary": pa.array(["a", "b"] * (n // 2)).dictionary_encode(),
        "half floats": pa.array(np.ones(n, np.float16)),
        "nested list": pa.array([[[1]]] * n),
        "empty list": pa.array([[]] * n, pa.list_(pa.int64())),
        "large text": pa.array(["a"] * n, pa.large_string()),
    }
    for name, values in extra.items():
        for place in ("more", "obs", "sex", "pid"):
            table = (
                good.append_column("more", values)
                if place == "more"
                else good.set_column(good.column_names.index(place), place, values)
            )
            for suffix in ("parquet", "feather") if place == "more" else ("parquet",):
                with io.BytesIO() as out:
                    try:
                        writes = {
                            "parquet": pa.parquet.write_table,
                            "feather": pa.feather.write_feather,
                        }
                        writes[suffix](table, out)
                    except (pa.ArrowException, ValueError):
                        continue
                    yield f"{suffix} {name} as {place}", f"t.{suffix}", out.getvalue()
    rng = np.random.default_rng(1)
    for suffix, write in (
        ("parquet", pa.parquet.write_table),
        ("feather", pa.feather.write_feather),
    ):
        with io.BytesIO() as out:
            write(good, out)
            whole = out.getvalue()
        yield f"{suffix} cut", f"t.{suffix}", whole[:-50]
        yield f"{suffix} no rows", f"t.{suffix}", _bytes(write, good.slice(0, 0))
        yield f"{suffix} no columns", f"t.{suffix}", _bytes(write, good.select([]))
        yield f"{suffix} is text", f"t.{suffix}", "\n".join(lines).encode()
        yield f"text is {suffix}", "t.csv", whole
        for i in range(10):
            flipped = bytearray(whole)
            flipped[int(rng.integers(len(whole)))] ^= 1 << int(rng.integers(8))
            yield f"{suffix} bit {i}", f"t.{suffix}", bytes(flipped)


def made_elsewhere(make: Callable[[], Iterator[Any]]) -> list[Any]:
    """Make cases in another process: this one is forked, and must not have threads of pyarrow."""
    with tempfile.TemporaryFile() as stream:
        child = os.fork()
        if child == 0:
            pickle.dump(list(make()), stream)
            stream.flush()
            os._exit(0)
        os.waitpid(child, 0)
        stream.seek(0)
        return list(pickle.load(stream))


def _bytes(write: Callable[..., Any], table: Any) -> bytes:
    with io.BytesIO() as out:
        write(table, out)
        return out.getvalue()


def mutated(good: bytes, n: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield copies with bytes replaced, removed or doubled, mostly marks that mean something."""
    rng = np.random.default_rng(seed)
    marks = [
        b",",
        b'"',
        b"\n",
        b"\r",
        b";",
        b"\t",
        b"\0",
        b"-",
        b"=",
        b"0",
        b"\xff",
        b"1e9",
        b"\xef\xbb\xbf",
        b"''",
        b'""',
    ]
    for i in range(n):
        text = bytearray(good)
        for _ in range(int(rng.integers(1, 4))):
            at, much = int(rng.integers(len(text))), int(rng.integers(1, 12))
            kind = int(rng.integers(4))
            if kind == 0:
                text[at:at] = marks[int(rng.integers(len(marks)))]
            elif kind == 1:
                text[at : at + 1] = marks[int(rng.integers(len(marks)))]
            elif kind == 2:
                del text[at : at + much]
            else:
                text[at:at] = text[at : at + much]
        yield f"mutation {seed}.{i}", bytes(text)


def table_cases(shared: Shared) -> Iterator[Callable[[Path], Case]]:
    """Yield every table with every command that reads one."""
    made = [*text_tables(shared.lines), *packed_tables(shared.lines)]
    made += made_elsewhere(lambda: arrow_tables(shared.lines))
    for name, file, content in made:
        kind = "arrow" if "parquet" in name or "feather" in name else "text"
        for command in ("plan", "sample", "predict", "fit"):
            if command == "fit" and (" bit " in name or name.endswith((" as pid", " as sex"))):
                continue  # read as by the others
            if command == "fit" and name == "20 000 columns":
                continue  # two minutes of training trees, with a progress bar
            yield partial(_table_case, shared, f"{kind} tables", name, file, content, command)
    for name, content in mutated(shared.table.read_bytes(), 60, 2):
        for command in ("sample", "predict"):
            yield partial(_table_case, shared, "mutated tables", name, "t.csv", content, command)


def _table_case(
    shared: Shared, area: str, name: str, file: str, content: bytes, command: str, folder: Path
) -> Case:
    path = folder / file
    path.write_bytes(content)
    argv, check = {
        "plan": (["plan", path, "--label", "obs", "--group", "sex"], None),
        "sample": (
            ["sample", path, "--n", "5", "--label", "obs", "--id", "pid", "-o", folder / "s.csv"],
            partial(drawn_from, path, folder / "s.csv", 5),
        ),
        "predict": (
            ["predict", shared.model, path, "-o", folder / "p.csv"],
            partial(ids_survive, path, folder / "p.csv"),
        ),
        "fit": (fit(path, folder / "m"), None),
    }[command]
    return Case(area, f"{command}: {name}", argv, check)


# sheets

SHEET = "pid,stratum,wave,probability,note,reviewed"


def sheet_rows(shared: Shared) -> tuple[list[str], dict[str, str]]:
    """Return ten rows of a good sheet, and its answers."""
    ids = read_ids(shared.table)[3:13]
    answers = {i: str(k % 2) for k, i in enumerate(ids)}
    return [f"{i},1,1,0.125,fine,{answers[i]}" for i in ids], answers


def text_sheets(shared: Shared) -> Iterator[tuple[str, str, bytes, dict[str, str]]]:
    """Yield (name, file name, content, the answers that must arrive if it is accepted)."""
    rows, answers = sheet_rows(shared)
    first = rows[0].split(",")[0]

    def put(name: str, text: str, kept: dict[str, str] | None = None, suffix: str = "csv") -> Any:
        return name, f"s.{suffix}", text.encode(), answers if kept is None else kept

    good = "\n".join([SHEET, *rows]) + "\n"
    yield put("good", good)
    yield put("zeros dropped", good.replace("\n000", "\n"))
    yield put("as floats", good.replace(f"\n{first}", f"\n{int(first)}.0"))
    yield put("semicolons", good.replace(",", ";").replace("0.125", "0,125"))
    yield put("tabs", good.replace(",", "\t"), suffix="tsv")
    yield put("columns moved", _moved(good))
    for at in range(len(rows)):
        for where in range(6):
            cells = rows[at].split(",")
            cells[where] = '"' + cells[where]
            text = "\n".join([SHEET, *rows[:at], ",".join(cells), *rows[at + 1 :]]) + "\n"
            yield put(f"quote left open in row {at}, cell {where}", text)
            yield put(
                f"quote of row {at}, cell {where} closed in the next", text.replace("fine", 'fi"ne')
            )
    for column, value in [
        ("wave", "inf"),
        ("wave", "1.5"),
        ("wave", "1e30"),
        ("wave", ""),
        ("wave", "x"),
        ("wave", "0"),
        ("wave", "9" * 5000),
        ("probability", "0"),
        ("probability", "2"),
        ("probability", "nan"),
        ("probability", "-1"),
        ("probability", "1e-320"),
        ("stratum", ""),
        ("stratum", "\x1b[31m"),
        ("pid", ""),
        ("pid", "nobody"),
        ("pid", "=1+1"),
        ("pid", "9" * 5000),
        ("reviewed", "maybe"),
        ("reviewed", "\x1b[31m"),
        ("reviewed", "2"),
        ("reviewed", "1.0000001"),
        ("reviewed", "١"),
    ]:
        cells = rows[4].split(",")
        cells[SHEET.split(",").index(column)] = value
        yield put(
            f"{column} {value[:9]!r}",
            "\n".join([SHEET, *rows[:4], ",".join(cells), *rows[5:]]) + "\n",
            {},
        )
    for name in ("reviewed", "Reviewed", "reviewed ", "REVIEWED", "wave", "pid", "probability "):
        more = [f"{row},{1 - int(row[-1])}" for row in rows]
        yield put(f"a second {name!r}", "\n".join([f"{SHEET},{name}", *more]) + "\n")
    none = [row[:-1] for row in rows]
    yield put("no answers", "\n".join([SHEET, *none]) + "\n", {"nothing": "may be accepted"})
    yield put("cannot tell", "\n".join([SHEET, *(f"{row}Cannot  tell" for row in none)]) + "\n", {})
    yield put("two answers", good + rows[0][:-1] + "1\n")
    yield put("the same answer twice", good + rows[0] + "\n")
    yield put("two spellings of an id", good + rows[0].lstrip("0") + "\n")
    yield put(
        "another column first", "\n".join([f"x,{SHEET}", *(f"1,{row}" for row in rows)]) + "\n"
    )
    yield put(
        "no id column", "\n".join([SHEET[4:], *(row.split(",", 1)[1] for row in rows)]) + "\n"
    )
    for name, content in mutated(good.encode(), 80, 3):
        yield name, "s.csv", content, {}


def _moved(text: str) -> str:
    """Put the answers first, as someone who sorts columns would."""
    rows = [line.split(",") for line in text.splitlines()]
    return "\n".join(",".join([row[-1], *row[:-1]]) for row in rows) + "\n"


def exports(shared: Shared) -> Iterator[tuple[str, str, bytes, dict[str, str]]]:
    """Yield Label Studio exports of every other shape."""
    answers = sheet_rows(shared)[1]
    data = [
        {"row": i, "id_column": "pid", "stratum": "1", "wave": 1, "probability": 0.125}
        for i in answers
    ]

    def full(task: dict[str, Any], choices: Any) -> dict[str, Any]:
        result = [{"from_name": "reviewed", "value": {"choices": choices}}]
        return {"data": task, "annotations": [{"result": result}]}

    def put(name: str, tasks: Any, kept: dict[str, str] | None = None) -> Any:
        text = tasks if isinstance(tasks, str) else json.dumps(tasks)
        return name, "s.json", text.encode(), answers if kept is None else kept

    told = list(answers.values())
    yield put("export", [full(d, [a]) for d, a in zip(data, told, strict=True)])
    yield put("short export", [{**d, "reviewed": a} for d, a in zip(data, told, strict=True)])
    for name, choices in {
        "two choices": ["0", "1"],
        "number": [0],
        "list": [["0"]],
        "mapping": [{"a": 1}],
        "null": [None],
        "text": "0",
        "none": [],
        "true": [True],
        "a number": 7,
        "a mapping": {"0": "1"},
        "escape": ["\x1b[31m"],
    }.items():
        yield put(f"choices {name}", [full(data[0], choices)], {data[0]["row"]: "0"})
        yield put(f"short {name}", [{**data[0], "reviewed": choices}], {data[0]["row"]: "0"})
    for name, value in {
        "list": [1],
        "mapping": {},
        "null": None,
        "inf": float("inf"),
        "huge": 10**400,
        "text": "x",
        "true": True,
        "1.5": 1.5,
        "minus": -1,
    }.items():
        for key in ("row", "id_column", "stratum", "wave", "probability"):
            tasks = [full({**d, key: value}, [a]) for d, a in zip(data[:3], told, strict=False)]
            yield put(f"{key} is {name}", tasks, dict(list(answers.items())[:3]))
    for name, text in {
        "nothing": "",
        "null": "null",
        "number": "7",
        "mapping": "{}",
        "empty": "[]",
        "numbers": "[1, 2]",
        "deep": "[" * 100_000,
        "deep mapping": '{"a":' * 50_000,
        "twice": '[{"row": "1", "row": "2"}]',
        "nan": "[NaN]",
        "half": '[{"data": {"row": ',
        "bytes": "\ufffe",
        "annotations text": json.dumps([{"data": data[0], "annotations": "x"}]),
        "annotation null": json.dumps([{"data": data[0], "annotations": [None]}]),
        "results text": json.dumps([{"data": data[0], "annotations": [{"result": ["x"]}]}]),
        "data list": json.dumps([{"data": [data[0]]}]),
        "value text": json.dumps(
            [
                {
                    "data": data[0],
                    "annotations": [{"result": [{"from_name": "reviewed", "value": "x"}]}],
                }
            ]
        ),
        "two columns": json.dumps([data[0], {**data[1], "id_column": "row"}]),
        "10 million digits": "[" + "9" * 10**7 + "]",
    }.items():
        yield put(name, text, {"nothing": "may be accepted"})
    whole = json.dumps([full(d, [a]) for d, a in zip(data, told, strict=True)]).encode()
    for name, content in mutated(whole, 30, 4):
        yield name, "s.json", content, {}


def sheet_cases(shared: Shared) -> Iterator[Callable[[Path], Case]]:
    """Yield every sheet joined to the good table."""
    for area, made in (("sheets", text_sheets(shared)), ("label studio", exports(shared))):
        for name, file, content, answers in made:
            yield partial(_sheet_case, shared, area, name, file, content, answers)


def _sheet_case(
    shared: Shared,
    area: str,
    name: str,
    file: str,
    content: bytes,
    answers: dict[str, str],
    folder: Path,
) -> Case:
    path, out = folder / file, folder / "o.csv"
    path.write_bytes(content)
    argv = ["join", path, shared.table, "--label", "obs", "--truth", "found", "-o", out]
    check = partial(answers_arrive, path, out, answers)
    if name.startswith("mutation"):
        check = partial(_nobody_elses, shared, path, out)
    elif not answers:
        check = partial(_no_answer_moved, shared, out)
    return Case(area, name, argv, check)


def _nobody_elses(shared: Shared, sheet: Path, out: Path) -> str | None:
    """Answers of a mutated sheet are on rows that it names; the table's ids are as they were."""
    frame = pd.read_csv(out, dtype=str, keep_default_na=False)
    if frame["pid"].tolist() != read_ids(shared.table):
        return "ids changed"
    text = sheet.read_bytes().decode("utf-8", "replace")
    named = [i for i in frame["pid"][frame["found"] != ""] if i.lstrip("0") not in text]
    return f"rows {named} are not on the sheet" if named else None


def _no_answer_moved(shared: Shared, out: Path) -> str | None:
    """No row has an answer other than the one that the good sheet gives it."""
    frame = pd.read_csv(out, dtype=str, keep_default_na=False)
    told = {i: r for i, r in zip(frame["pid"], frame["found"], strict=True) if r}
    good = sheet_rows(shared)[1]
    return None if told.items() <= good.items() else f"answers became {told}"


# options


def option_cases(shared: Shared) -> Iterator[Callable[[Path], Case]]:
    """Yield options with values that no one should pass."""
    table, model = shared.table, shared.model
    numbers = ["0", "-1", "1e400", "nan", "inf", "x", "", "9" * 30, "1.5", "1e-300"]
    plan = ["plan", table, "--label", "obs"]
    draw = ["sample", table, "--label", "obs", "--n", "5", "-o", "{}/s.csv"]
    check = ["audit", model, table, "--top", "3"]
    wanted: list[list[Any]] = []
    for option in ("--precision", "--level", "--guess", "--budget", "--floor"):
        wanted += [[*plan, option, value] for value in numbers]
    for option in ("--n", "--seed", "--guess", "--floor"):
        wanted += [[*draw, option, value] for value in numbers]
    for option in ("--next", "--top", "--level", "--seed"):
        wanted += [[*check, option, value] for value in numbers]
    columns = [
        "",
        "nobody",
        "obs",
        "sex",
        "pid",
        "reviewed",
        "[/bold]",
        "\x1b[31m",
        "a" * 10_000,
        "*",
        "obs\n",
        "%s",
    ]
    for option in ("--label", "--group", "--truth", "--id", "--show"):
        wanted += [[*draw, option, value] for value in columns]
    for option in ("--label", "--truth", "--group", "--id"):
        wanted += [[*check, option, value] for value in columns]
    for option in (
        "--ignore",
        "--categorical",
        "--allow-leak",
        "--id",
        "--probability",
        "--group",
        "--truth",
        "--label",
    ):
        wanted += [[*fit(table, "{}/m"), option, value] for value in columns[:5]]
    for method in ("", "nobody", "clean", "\x1b[31m", "observed_", "_linear", "Blend()"):
        wanted.append([*fit(table, "{}/m"), "--method", method])
    for option in ("--folds", "--configs", "--threshold", "--seed", "--ensemble", "--jobs"):
        wanted += [
            [*fit(table, "{}/m"), option, value] for value in ("0", "-1", "x", "1.5", "9" * 30)
        ]
    wanted += [[*fit(table, "{}/m"), "--folds", "1000"], [*fit(table, "{}/m"), "--device", "cuda"]]
    outs = [
        "{}",
        "{}/no/s.csv",
        "{}/s",
        "{}/s.xlsx",
        "/dev/null",
        "/proc/x.csv",
        "{}/" + "a" * 300 + ".csv",
        "",
        "{}/\x1b[31m.csv",
        "-",
    ]
    for out in outs:
        wanted.append(["sample", table, "--n", "5", "--label", "obs", "-o", out])
        wanted.append(["predict", model, table, "-o", out])
        wanted.append(["export", model, "--onnx", out])
        wanted.append(fit(table, out))
        wanted.append(["join", out, table, "--label", "obs", "-o", "{}/o.csv"])
        wanted.append(["plan", out, "--label", "obs"])
        wanted.append(["predict", out, table, "-o", "{}/p.csv"])
        wanted.append(["report", out, "-o", "{}/r.html"])
    for number, argv in enumerate(wanted):
        yield partial(_option_case, number, argv)


def _option_case(number: int, argv: list[Any], folder: Path) -> Case:
    words = [str(word).replace("{}", str(folder)).replace("\0", "") for word in argv]
    told = " ".join(repr(word[-40:]) for word in words[-2:])
    return Case("options", f"{number}: {words[0]} {told}", words)
