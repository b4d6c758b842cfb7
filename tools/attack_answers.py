"""Cases about reviews for ``attack_tables.py``.

Designs, logs of answers, review pages, monitoring, and the options that say how a table is written
and what its groups are.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from attack_cases import (
    Case,
    Shared,
    drawn_from,
    fit,
    ids_survive,
    mutated,
    packed_tables,
    read_ids,
    text_tables,
)
from attack_excel import make_book, predicted_alike, typed_rows

HOSTILE = {
    "script": "</script><script>alert(1)</script>",
    "script in capitals": "</SCRIPT ><svg/onload=alert(1)>",
    "comment": "<!--<script>",
    "attribute": "\"'><img src=x onerror=alert(1)>",
    "json": '"}];alert(1)//',
    "line separators": "a\u2028b\u2029c",
    "template": "@data@ @script@ ${alert(1)} {{7*7}}",
    "entity": "&lt;b&gt; &#0;",
    "escape": "\x1b[31mred\x07",
    "right to left": "\u202eevil",
    "formula": "=cmd|' /C calc'!A0",
    "markup": "[/bold][red]",
    "backslashes": "\\u003c/script\\u003e \\n",
    "__proto__": "__proto__",
    "long": "x" * 100_000,
    "nul": "a\0b",
    "lone surrogate": "a\ud800b",
}
"""Text that someone may hope to be taken for something else."""


def write_columns(columns: dict[str, list[str]], path: Path) -> None:
    """Write a CSV file that may hold any character."""
    with path.open("w", encoding="utf-8", errors="surrogatepass", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerows([list(columns), *zip(*columns.values(), strict=True)])


# designs


def designs(good: bytes) -> Iterator[tuple[str, bytes, bool]]:
    """Yield (name, content, whether it was signed anew) of designs that were changed."""
    content = json.loads(good)

    def signed(**changes: Any) -> bytes:
        """Return a design with a checksum that fits, as only a program writes it."""
        new = {**content, **changes}
        del new["checksum"]
        text = json.dumps(new, sort_keys=True, separators=(",", ":"))
        return json.dumps({**new, "checksum": hashlib.sha256(text.encode()).hexdigest()}).encode()

    for name, changed in mutated(good, 60, 11):
        yield name, changed, False
    for share in (0.0, 0.2, 0.5, 0.9, 0.99):
        yield f"cut at {share}", good[: int(share * len(good))], False
    for name, text in {
        "nothing": b"", "null": b"null", "a list": b"[]", "a number": b"7", "a mapping": b"{}",
        "text": b'"x"', "deep": b"[" * 200_000, "deep mapping": b'{"a":' * 100_000,
        "nan": b"NaN", "digits": b"9" * 10_000_000, "bytes": b"\xff\xfe\0", "spaces": b" " * 9_999,
        "utf-16": good.decode().encode("utf-16"), "with a mark": b"\xef\xbb\xbf" + good,
        "gz": gzip.compress(good), "twice": good + good, "html": b"<html></html>",
        "a key twice": good.replace(b'"version": 1', b'"version": 1, "version": 1', 1),
        "rows twice": good.rstrip()[:-1] + b', "rows": []}',
    }.items():  # fmt: skip
        yield name, text, False
    for key in content:
        left = {k: v for k, v in content.items() if k != key}
        yield f"no {key}", json.dumps(left).encode(), False
        for what, value in {
            "null": None, "list": [], "mapping": {}, "number": 7, "text": "x", "true": True,
            "nested": [[[["x"]]]], "huge": 10**400, "nan": float("nan"), "hostile": HOSTILE["script"],
        }.items():  # fmt: skip
            yield f"{key} is {what}", json.dumps({**content, key: value}).encode(), False
            yield f"{key} is {what}, signed", signed(**{key: value}), True
    rows = content["rows"]
    for at, column in enumerate(("id", "stratum", "wave", "probability")):
        for value in (
            None,
            [],
            {},
            True,
            "x",
            "",
            -1,
            0,
            2,
            0.5,
            1e400,
            10**400,
            1e-320,
            "1",
            "\ud800",
        ):
            changed = [
                [*row[:at], value, *row[at + 1 :]] if i == 3 else row for i, row in enumerate(rows)
            ]
            yield f"{column} {str(value)[:9]!r}, signed", signed(rows=changed), True
            yield (
                f"{column} {str(value)[:9]!r}",
                json.dumps({**content, "rows": changed}).encode(),
                False,
            )
    yield "a row twice, signed", signed(rows=[*rows, rows[0]]), True
    yield (
        "an id in two spellings, signed",
        signed(rows=[*rows, [rows[0][0].lstrip("0"), *rows[0][1:]]]),
        True,
    )
    yield "a row left out, signed", signed(rows=rows[1:]), True
    yield "short rows, signed", signed(rows=[row[:2] for row in rows]), True
    yield "long rows, signed", signed(rows=[[*row, 1] for row in rows]), True
    yield (
        "100 000 rows, signed",
        signed(rows=[*rows, *([f"x{i}", "1", 1, 0.5] for i in range(100_000))]),
        True,
    )
    yield "another id column, signed", signed(id_column="age"), True
    yield "an id column of ours, signed", signed(id_column="reviewed"), True
    yield "a label that is not there, signed", signed(label="nobody"), True
    for what, value in (
        ("one answer", ["0"]), ("the same", ["0", "0"]), ("cannot tell", ["0", "cannot tell"]),
        ("other answers", ["yes", "no"]), ("10 000", [str(i) for i in range(10_000)]),
    ):  # fmt: skip
        yield f"choices {what}, signed", signed(choices=value), True
    for what, value in HOSTILE.items():
        yield f"choices {what}, signed", signed(choices=["0", "1", value]), True
        yield f"groups {what}, signed", signed(groups=[value]), True
        yield f"reviewers {what}, signed", signed(reviewers=[value]), True
    yield "reviewers that climb, signed", signed(reviewers=["../../evil"]), True


def design_cases(shared: Shared) -> Iterator[Callable[[Path], Case]]:
    """Yield every changed design, with the commands that read it."""
    good = shared.sheet.with_name("drawn.design.json").read_bytes()
    for number, (name, content, resigned) in enumerate(designs(good)):
        yield partial(_design_join, shared, name, content, resigned)
        # the page reads a design in the same way
        if number % 4 == 0 or "choices" in name or "groups" in name or "reviewers" in name:
            yield partial(_design_page, shared, name, content)
    yield partial(_design_join, shared, "of another sheet",
                  shared.sheet.with_name("other.design.json").read_bytes(), True)  # fmt: skip


def _design_join(shared: Shared, name: str, content: bytes, resigned: bool, folder: Path) -> Case:
    path, out = folder / "drawn.csv", folder / "o.csv"
    shutil.copy(shared.sheet, path)
    (folder / "drawn.design.json").write_bytes(content)
    argv = ["join", path, shared.table, "--label", "obs", "--truth", "found", "-o", out]
    # who signs a design anew may have meant it; answers must not move all the same
    check = partial(_drawn_as, shared, out, not resigned)
    return Case("designs", f"join: {name}", argv, check)


def _drawn_as(shared: Shared, out: Path, design: bool) -> str | None:
    """Answers are where the sheet has them, and rows were drawn as the true design says."""
    frame = pd.read_csv(out, dtype=str, keep_default_na=False).set_index("pid")
    told = pd.read_csv(shared.sheet, dtype=str, keep_default_na=False).set_index("pid")["reviewed"]
    found = frame["found"][frame["found"] != ""]
    if found.to_dict() != told[told != ""].to_dict():
        return f"answers became {found.to_dict()}"
    rows = json.loads(shared.sheet.with_name("drawn.design.json").read_text())["rows"]
    for pid, stratum, wave, chance in rows if design else ():
        row = frame.loc[pid]
        if row["stratum"] != stratum or int(row["wave"]) != wave:
            return f"row {pid} is of another stratum or wave"
        if abs(float(row["probability"]) - chance) > 1e-9:
            return f"row {pid} was drawn with {chance}, not {row['probability']}"
    return None


def _design_page(shared: Shared, name: str, content: bytes, folder: Path) -> Case:
    path, out = folder / "drawn.csv", folder / "p.html"
    shutil.copy(shared.sheet, path)
    (folder / "drawn.design.json").write_bytes(content)
    return Case("designs", f"review: {name}", ["review", path, "-o", out], partial(page_holds, out))


# review pages


def page_holds(out: Path, expected: dict[str, Any] | None = None) -> str | None:
    """Say if a page has a script or markup of somebody else, or other data than expected."""
    text = out.read_text(encoding="utf-8")
    # its data block and its script; a comment or another element would be somebody else's
    if len(re.findall("</script", text, re.I)) != 2 or len(re.findall("<script", text, re.I)) != 2:
        return "the page has a script that is not its own"
    if "<!--" in text or re.search("<(svg|img|iframe|object|embed)[ />]", text, re.I):
        return "the page has markup that is not its own"
    if "Content-Security-Policy" not in text:
        return "the page has no policy"
    if expected is None:
        return None
    found = re.search(r"<script[^>]*application/json[^>]*>(.*?)</script>", text, re.S)
    if not found:
        return "the page has no data"
    data = json.loads(found[1])
    wrong = [key for key, value in expected.items() if data[key] != value]
    return f"the page does not hold {wrong} as given" if wrong else None


def page_cases(shared: Shared) -> Iterator[Callable[[Path], Case]]:
    """Yield sheets with hostile text in every column, name and option of a review page."""
    for name, text in HOSTILE.items():
        for place in (
            "id",
            "shown",
            "column",
            "id column",
            "comment",
            "reviewer",
            "answer",
            "time",
        ):
            yield partial(_page_case, shared, f"{name} as {place}", place, text)
        for option in ("--title", "--reviewer", "--choice", "--show", "--design", "-o"):
            yield partial(_page_option, shared, f"{option} {name}", option, text)
    for name, content in mutated(shared.sheet.read_bytes(), 30, 12):
        yield partial(_page_bytes, shared, name, "drawn.csv", content)
    for name, file, content in (*_odd_sheets(), ("xlsx", "drawn.xlsx", None)):
        yield partial(_page_bytes, shared, name, file, content)


def _odd_sheets() -> Iterator[tuple[str, str, bytes | None]]:
    head, row = "pid,age,reviewed", "00049003,61,"
    for name, text in {
        "empty": "", "header": head, "no answers column": "pid,age\n1,2", "no ids": "reviewed\n0",
        "a row twice": f"{head}\n{row}\n{row}", "two spellings": f"{head}\n{row}\n49003,61,",
        "a second reviewed": f"{head},reviewed\n{row},1", "Reviewed": f"{head},Reviewed\n{row},1",
        "only design": "stratum,wave,probability,reviewed\n1,1,0.5,0",
        "200 columns": head + "".join(f",c{i}" for i in range(200)) + f"\n{row}" + ",x" * 200,
        "20 000 rows": head + "".join(f"\n{i},61," for i in range(20_000)),
    }.items():  # fmt: skip
        yield name, "drawn.csv", text.encode()
    yield "json", "drawn.json", b"[]"
    yield "gz", "drawn.csv.gz", gzip.compress(f"{head}\n{row}".encode())
    yield "no format", "drawn", f"{head}\n{row}".encode()


def _page_case(shared: Shared, name: str, place: str, text: str, folder: Path) -> Case:
    path, out = folder / "s.csv", folder / "p.html"
    ids = read_ids(shared.table)[:4]
    columns: dict[str, list[str]] = {
        "pid": ids, "note": ["a", "b", "c", "d"], "reviewed": ["0", "", "1", ""],
        "reviewer": ["anna"] * 4, "time": ["2020-01-01T00:00"] * 4, "comment": ["", "x", "", ""],
    }  # fmt: skip
    where = {"id": "pid", "shown": "note", "answer": "reviewed"}.get(place, place)
    if place == "column":
        columns = {text if k == "note" else k: v for k, v in columns.items()}
    elif place == "id column":
        columns = {text if k == "pid" else k: v for k, v in columns.items()}
    else:
        columns[where] = [text, *columns[where][1:]]
    write_columns(columns, path)
    argv = ["review", path, "--choice", "0", "--choice", "1", "-o", out]
    # what the page holds is what was in the file, apart from the apostrophe of a formula
    plain = not {"\0", "\ud800"} & set(text) and place in ("id", "shown", "column", "id column")
    names = [k for k in columns if k in ("note", text)][:1] if place != "id column" else ["note"]
    expected = {
        "ids": next(iter(columns.values())), "columns": names,
        "cells": [[v] for v in columns[names[0]]], "choices": ["0", "1"],
    }  # fmt: skip
    return Case("review pages", name, argv, partial(page_holds, out, expected if plain else None))


def _page_option(shared: Shared, name: str, option: str, text: str, folder: Path) -> Case:
    path, out = folder / "drawn.csv", folder / "p.html"
    shutil.copy(shared.sheet, path)
    shutil.copy(shared.sheet.with_name("drawn.design.json"), folder)
    words = text.replace("\0", "").encode("utf-8", "replace").decode()
    given = [option, folder / f"{words[:50]}.html" if option == "-o" else words]
    argv = ["review", path, *(["-o", out] if option != "-o" else []), *given]
    made = partial(page_holds, out) if option != "-o" else None
    return Case("review pages", name, argv, made)


def _page_bytes(shared: Shared, name: str, file: str, content: bytes | None, folder: Path) -> Case:
    path, out = folder / file, folder / "p.html"
    path.write_bytes(make_book(typed_rows(shared.lines)) if content is None else content)
    shutil.copy(shared.sheet.with_name("drawn.design.json"), folder)
    argv = ["review", path, "-o", out]
    return Case("review pages", f"sheet {name}", argv, partial(page_holds, out))


# logs of answers


def logs(good: str) -> Iterator[tuple[str, bytes]]:
    """Yield logs of answers that were edited, damaged, or are something else."""
    head, *rows = good.splitlines()
    names = head.split(",")
    for name, content in mutated(good.encode(), 40, 13):
        yield name, content
    for column in names:
        for value in (
            "", " ", "x", "0", "7", "NA", "YES", " yes ", "true", "1e400", "9" * 5000, "cannot tell",
            "CANNOT  TELL", "1.0", "\x1b[31m", "=1+1", "'=1+1", '"a\nb"', "[/bold]", "nobody", "-1",
        ):  # fmt: skip
            cells = rows[2].split(",")
            cells[names.index(column)] = value
            text = "\n".join([head, *rows[:2], ",".join(cells), *rows[3:]]) + "\n"
            yield f"{column} {value[:12]!r}", text.encode()
        left = [i for i, name in enumerate(names) if name != column]
        yield f"no {column}", "\n".join(
            ",".join(line.split(",")[i] for i in left) for line in (head, *rows)
        ).encode()  # fmt: skip
        yield f"{column} twice", "\n".join([f"{head},{column}", *(f"{r},x" for r in rows)]).encode()
        yield f"{column.title()}", good.replace(column, column.title(), 1).encode()
    spelled = [row.lstrip("0").replace(",", ".0,", 1) for row in rows]
    yield "ids as numbers", "\n".join([head, *spelled]).encode()
    for name, text in {
        "empty": "", "header": head, "one answer": "\n".join([head, rows[0]]),
        "every answer twice": "\n".join([head, *rows, *rows]),
        "all the same": "\n".join([head, *(re.sub(r",[01],", ",1,", row, count=1) for row in rows)]),
        "all adjudicated": "\n".join([head, *(f"{row[:-1] if row.endswith(',') else row},yes" for row in rows)]),
        "one reviewer": good.replace(",ben,", ",anna,"),
        "500 reviewers": "\n".join([head, *(rows[i % len(rows)].replace(",anna,", f",r{i},") for i in range(500))]),
        "20 000 answers": "\n".join([head, *(rows[i % len(rows)] for i in range(20_000))]),
        "semicolons": good.replace(",", ";"), "quote left open": good.replace(",anna,", ',"anna,', 1),
        "another table": "pid,age\n1,2", "json": "[]", "nuls": "\0" * 100,
    }.items():  # fmt: skip
        yield name, text.encode()
    yield "utf-16", good.encode("utf-16")
    yield "gz", gzip.compress(good.encode())


def log_cases(shared: Shared) -> Iterator[Callable[[Path], Case]]:
    """Yield every log with the commands that read one."""
    good = shared.reviewed.with_name("reviewed.answers.csv").read_text(encoding="utf-8")
    for number, (name, content) in enumerate(logs(good)):
        for command in ("join", "disputes"):
            yield partial(_log_case, shared, name, content, command)
        if number % 3 == 0:
            yield partial(_log_case, shared, name, content, "alone")
        if number % 3 == 1:
            yield partial(_log_case, shared, name, content, "audit")
        if number % 12 == 5:
            yield partial(_log_case, shared, name, content, "fit")
    for name, text in HOSTILE.items():
        for place in ("answer", "reviewer", "id", "table"):
            yield partial(_hostile_log, shared, f"{name} as {place}", place, text)
    for word in (
        "",
        "nobody",
        "\x1b[31m",
        "obs",
        "pid",
        "age",
        "reviewed",
        "probability",
        "a" * 5000,
    ):
        for option in ("--label", "--group", "--id", "--show", "--level"):
            yield partial(_disputes_option, shared, option, word)
    alike = {"alike": {"00049003": "1", "00049005": "1.0", "00049007": " 1"},
             "doubled": {"00049003": "7", "00049005": "7"}}  # fmt: skip
    for name, changes in alike.items():
        for command in ("join", "disputes", "audit", "fit"):
            yield partial(_alike_case, shared, f"ids of the table {name}", changes, command)


def _log_case(shared: Shared, name: str, content: bytes, command: str, folder: Path) -> Case:
    table, log = folder / "t.csv", folder / "t.answers.csv"
    shutil.copy(shared.reviewed, table)
    log.write_bytes(content)
    return Case("answers", f"{command}: {name}", *_log_command(shared, table, log, command, folder))


def _log_command(
    shared: Shared, table: Path, log: Path, command: str, folder: Path
) -> tuple[list[Any], Callable[[], str | None] | None]:
    queue, out, sheet = folder / "q.csv", folder / "o.csv", folder / "drawn.csv"
    if command == "alone":
        return ["disputes", log, "-o", queue], partial(_queued, log, queue, "id")
    if command == "disputes":
        argv = ["disputes", log, table, "--label", "obs", "--id", "pid", "-o", queue]
        return argv, partial(_queued, log, queue, "pid", table)
    if command == "audit":
        return [
            "audit",
            shared.model,
            table,
            "--truth",
            "found",
            "--answers",
            log,
            "--top",
            "3",
        ], None
    if command == "fit":
        words = [w if w != "reviewed" else "found" for w in fit(table, folder / "m")]
        return [*words, "--ignore", "reviewed", "--answers", log], None
    shutil.copy(shared.sheet, sheet)
    shutil.copy(shared.sheet.with_name("drawn.design.json"), folder)
    argv = ["join", sheet, table, "--label", "obs", "--truth", "found", "--reviewer", "eve",
            "-o", out]  # fmt: skip
    return argv, partial(_nothing_lost, log, out)


def plain_log(path: Path) -> pd.DataFrame:
    """Read a log without the reader that is attacked."""
    encoding = "utf-16" if path.read_bytes().startswith(b"\xff\xfe") else "utf-8-sig"
    text = path.read_text(encoding=encoding)
    mark = max(",;\t|", key=text.partition("\n")[0].count)
    return pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False, sep=mark)


def _queued(log: Path, queue: Path, column: str, table: Path | None = None) -> str | None:
    """Rows to adjudicate are in the log, or disputed in the table; none is on the list twice."""
    from alignset.review.ids import id_key

    listed = pd.read_csv(queue, dtype=str, keep_default_na=False)[column].tolist()
    if len(set(listed)) < len(listed):
        return "a row is on the list twice"
    known = {id_key(i) for i in plain_log(log)["id"]}
    if table is not None:
        frame = pd.read_csv(table, dtype=str, keep_default_na=False)
        known |= {id_key(i) for i in frame["pid"][frame["review_state"] == "disputed"]}
    strange = [i for i in listed if id_key(i) not in known]
    return f"rows {strange} are not in the log" if strange else None


def _nothing_lost(log: Path, out: Path) -> str | None:
    """Every answer of the old log is in the new one, and what is agreed has a label."""
    frame = pd.read_csv(out, dtype=str, keep_default_na=False)
    bare = frame[(frame["review_state"] == "agreed") & (frame["found"] == "")]
    if len(bare):
        return f"rows {bare['pid'].tolist()[:3]} are agreed, but nobody knows on what"
    names = ["id", "reviewer", "answer"]
    old = plain_log(log)
    new = pd.read_csv(out.with_name("o.answers.csv"), dtype=str, keep_default_na=False)
    kept, was = ({_entry(row) for row in of[names].itertuples(index=False)} for of in (new, old))
    return f"answers were lost: {list(was - kept)[:3]}" if was - kept else None


def _entry(row: Iterable[str]) -> tuple[str, ...]:
    """Return an entry of a log without what a spreadsheet program may have changed."""
    from alignset.review.cells import read_cell
    from alignset.review.ids import id_key

    pid, *others = (" ".join(str(read_cell(cell)).split()).casefold() for cell in row)
    return (id_key(pid), *others)


def _hostile_log(shared: Shared, name: str, place: str, text: str, folder: Path) -> Case:
    table, log, queue = folder / "t.csv", folder / "t.answers.csv", folder / "q.csv"
    # as objects: text of pandas cannot be half of a pair
    frame = pd.read_csv(shared.reviewed, dtype=str, keep_default_na=False).astype(object)
    said = pd.read_csv(
        shared.reviewed.with_name("reviewed.answers.csv"), dtype=str, keep_default_na=False
    ).astype(object)
    if place == "table":
        frame["note"] = pd.Series([text] * len(frame), dtype=object)
    elif place == "id":
        first = said["id"][0]
        frame["pid"], said["id"] = (of.replace(first, text) for of in (frame["pid"], said["id"]))
    elif place == "answer":
        frame["obs"], said["answer"] = (
            of.replace("1", text) for of in (frame["obs"], said["answer"])
        )
    else:
        said["reviewer"] = said["reviewer"].replace("anna", text)
    for of, path in ((frame, table), (said, log)):
        write_columns({name: of[name].tolist() for name in of}, path)
    argv = ["disputes", log, table, "--label", "obs", "--id", "pid", "-o", queue]
    argv += ["--show", "note"] if place == "table" else []
    return Case("answers", f"disputes: {name}", argv, partial(_no_formulas, queue))


def _no_formulas(queue: Path) -> str | None:
    """No cell of a written sheet begins like a formula."""
    frame = pd.read_csv(queue, dtype=str, keep_default_na=False)
    found = [cell for column in frame for cell in frame[column] if cell[:1] in ("=", "@", "+")]
    return f"{found[0][:40]!r} would be computed" if found else None


def _disputes_option(shared: Shared, option: str, word: str, folder: Path) -> Case:
    log = shared.reviewed.with_name("reviewed.answers.csv")
    argv = ["disputes", log, shared.reviewed, "--id", "pid", option, word, "-o", folder / "q.csv"]
    return Case("answers", f"disputes: {option} {word[:9]!r}", argv)


def _alike_case(
    shared: Shared, name: str, changes: dict[str, str], command: str, folder: Path
) -> Case:
    """Make ids that a spreadsheet program saves as one: nobody knows whose an answer is."""
    table, log = folder / "t.csv", folder / "t.answers.csv"
    frame = pd.read_csv(shared.reviewed, dtype=str, keep_default_na=False)
    frame["pid"] = frame["pid"].replace(changes)
    frame.to_csv(table, index=False)
    said = pd.read_csv(
        shared.reviewed.with_name("reviewed.answers.csv"), dtype=str, keep_default_na=False
    )
    said.loc[0, "id"] = "1" if "1" in changes.values() else "7"
    said.to_csv(log, index=False)
    argv, _ = _log_command(shared, table, log, command, folder)
    return Case("answers", f"{command}: {name}", argv, lambda: "an answer belongs to two rows")


# monitoring


def monitor_cases(shared: Shared) -> Iterator[Callable[[Path], Case]]:
    """Yield later tables of every malformed kind, and odd options."""
    for name, file, content in (*text_tables(shared.lines), *packed_tables(shared.lines)):
        yield partial(_monitor_case, shared, name, file, content)
    columns = [
        "",
        "nobody",
        "sex",
        "pid",
        "age",
        "visit",
        "reviewed",
        "obs",
        "\x1b[31m",
        "a" * 9999,
    ]
    numbers = ["0", "1", "-1", "nan", "inf", "x", "", "1e-300", "0.5", "1.5"]
    for option, values in (
        ("--by", columns), ("--threshold", numbers), ("--level", numbers),
        ("-o", ["/dev/null", "{}", "{}/no/x.csv", "", "{}/x", "{}/x.xlsx", "{}/\x1b.csv"]),
    ):  # fmt: skip
        for value in values:
            yield partial(_monitor_option, shared, option, value)


def _monitor_case(shared: Shared, name: str, file: str, content: bytes, folder: Path) -> Case:
    path, out = folder / file, folder / "m.csv"
    path.write_bytes(content)
    argv = ["monitor", shared.model, path, "--by", "sex", "-o", out]
    return Case("monitor", name, argv, partial(_measured, out))


def _measured(out: Path) -> str | None:
    """Every interval holds its estimate."""
    frame = pd.read_csv(out)
    apart = frame[
        (frame["now"] < frame["now_low"] - 1e-9) | (frame["now"] > frame["now_high"] + 1e-9)
    ]
    return f"{len(apart)} intervals do not hold their estimate" if len(apart) else None


def _monitor_option(shared: Shared, option: str, value: str, folder: Path) -> Case:
    argv = ["monitor", shared.model, shared.table, option, value.replace("{}", str(folder))]
    return Case("monitor", f"{option} {value[:12]!r}", argv)


# how a table is written, and what its groups are


def reading_cases(shared: Shared) -> Iterator[Callable[[Path], Case]]:
    """Yield odd values of the options about reading a table, and about judging models."""
    columns = ["", "nobody", "age", "pid", "sex", "visit", "\x1b[31m", "a" * 9999, "reviewed", "*"]
    values = {
        "--sep": ["", ",", ";", "tab", "\\t", "|", "space", "a", "0", ".", "'", '"', "\n", ",,",
                  "\x1b", "é", "-", "comma", "x" * 999, "\\", "e"],
        "--decimal": ["", ".", ",", "x", ";", "..", "٫", "\x1b"],
        "--encoding": ["", "utf-8", "UTF8", "utf-8-sig", "latin-1", "cp1252", "ascii", "utf-16",
                       "utf-16-le", "utf-32", "utf-7", "cp500", "idna", "punycode", "rot13",
                       "unicode_escape", "raw_unicode_escape", "hex", "zlib", "bz2", "base64",
                       "undefined", "mbcs", "nobody", "x" * 9999, "\x1b[31m", "../utf-8", "utf 8",
                       "shift_jis", "gb18030", "hz", "iso2022_jp", "charmap", "quopri", "uu"],
        "--sheet-name": ["", "nobody", "Sheet", "\x1b[31m", "[/bold]", "a" * 9999],
        "--keep-na": columns,
    }  # fmt: skip
    for option, words in values.items():
        for word in words:
            yield partial(_reading_case, shared, option, word, "predict")
            if option != "--encoding":
                yield partial(_reading_case, shared, option, word, "sample")
    for mark in "\\]^[(*?$#%&!~`_=<>@{}/: ;|\t":
        yield partial(_marked_case, shared, mark)
    for word in values["--sheet-name"]:
        yield partial(_sheet_case, shared, word)
    bins = ["", "=", "age", "age=", "=18", "age=18,40,65", "age=40,18", "age=18,18", "age=nan",
            "age=inf", "age=1e400", "age=each", "age=Each", "sex=1", "pid=49040", "visit=2015",
            "obs=0.5", "reviewed=0.5", "nobody=1", "\x1b[31m=1", "age=18;40", "age=1,,2", "age=x",
            "age=" + ",".join(map(str, range(5000))), "age=-1e308,1e308", "a=b=1", "age=18=40",
            "age=0x10", "age=1_0", "age= 18 , 40 ", "age=" + "9" * 5000, "pid=each"]  # fmt: skip
    for word in bins:
        for command in ("sample", "plan", "dry run"):
            yield partial(_grouping_case, shared, "--bin", word, command)
    for word in ("", " ", "f", "F", "m", "NA", "unknown", "all", "\x1b[31m", "[/bold]", "g" * 5000,
                 "</script>", "=1+1", "a\nb", "nan"):  # fmt: skip
        for command in ("sample", "plan", "dry run", "fit"):
            yield partial(_grouping_case, shared, "--missing-group", word, command)
    days = ["2015-01-01", "visit=2015-01-01", "", "=", "visit=", "=2015-01-01", "nobody=2015-01-01",
            "age=2015-01-01", "sex=2015-01-01", "9999-12-31", "0001-01-01", "2015-02-30", "0000-00-00",
            "2015-W01-1", "20150101", "2015", "2015-01-01T25:00", "2015-01-01T12:00",
            "2015-01-01+05:00", "2015-01-01T00:00:00Z", "9999-12-31T23:59:59-14:00",
            "visit=visit=2015-01-01", "\x1b[31m", "1e400", "２０１５-01-01", "31.01.2015", "01/31/2015",
            "today", "-2015-01-01", "a" * 9999, "visit=2021-12-12", "visit=2009-01-01"]  # fmt: skip
    for option, words in (
        ("--holdout-after", days),
        ("--holdout-by", columns),
        ("--judge-by", columns),
    ):
        for word in words:
            yield partial(_judging_case, shared, option, word)
    for word in ("", "nobody", "/dev/null", "{}", "{}/no.csv", "/proc/self/environ", "\x1b[31m"):
        yield partial(_judging_case, shared, "--answers", word)


def _reading_case(shared: Shared, option: str, word: str, command: str, folder: Path) -> Case:
    out = folder / "o.csv"
    name = f"{command}: {option} {word[:20]!r}"
    if command == "sample":
        argv = ["sample", shared.table, "--n", "5", "--label", "obs", "--id", "pid", "-o", out]
        return Case(
            "reading", name, [*argv, option, word], partial(drawn_from, shared.table, out, 5)
        )
    argv = ["predict", shared.model, shared.table, "-o", out, option, word]
    # the table is plain text, so whatever is accepted must give what is found out without it
    return Case(
        "reading", name, argv, partial(predicted_alike, shared, out, read_ids(shared.table), ())
    )


def _marked_case(shared: Shared, mark: str, folder: Path) -> Case:
    """Write the good table with a mark that nobody would choose, and say so."""
    path, out = folder / "t.csv", folder / "o.csv"
    path.write_text(shared.table.read_text().replace(",", mark))
    argv = ["predict", shared.model, path, "-o", out, "--sep", mark]
    check = partial(predicted_alike, shared, out, read_ids(shared.table), ())
    return Case("reading", f"predict: separated by {mark!r}", argv, check)


def _sheet_case(shared: Shared, word: str, folder: Path) -> Case:
    path, out = folder / "t.xlsx", folder / "o.csv"
    path.write_bytes(make_book(typed_rows(shared.lines)))
    argv = ["predict", shared.model, path, "-o", out, "--sheet-name", word]
    return Case("reading", f"a workbook's --sheet-name {word[:12]!r}", argv,
                partial(ids_survive, shared.table, out))  # fmt: skip


def _grouping_case(shared: Shared, option: str, word: str, command: str, folder: Path) -> Case:
    path, out = folder / "t.csv", folder / "o.csv"
    lines = list(shared.lines)
    group = word.rpartition("=")[0] or "sex"
    if option == "--missing-group":
        group = "sex"
        lines[5:9] = [line.replace(",f,", ",,").replace(",m,", ",,") for line in lines[5:9]]
    path.write_text("\n".join(lines))
    words = fit(path, folder / "m")
    words[words.index("sex")] = group
    argv = {
        "sample": ["sample", path, "--n", "20", "--label", "obs", "--id", "pid", "-o", out,
                   "--group", group],
        "plan": ["plan", path, "--label", "obs", "--group", group],
        "dry run": [*words, "--dry-run"],
        "fit": words,
    }[command]  # fmt: skip
    check = partial(drawn_from, path, out, 20) if command == "sample" else None
    return Case("reading", f"{command}: {option} {word[:20]!r}", [*argv, option, word], check)


def _judging_case(shared: Shared, option: str, word: str, folder: Path) -> Case:
    argv = [*fit(shared.table, folder / "m"), option, word.replace("{}", str(folder))]
    return Case("reading", f"fit: {option} {word[:20]!r}", argv)
