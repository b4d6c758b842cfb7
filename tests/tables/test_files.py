import gzip
import os
import subprocess
import sys
import textwrap

import pandas as pd
import pytest

from alignset.tables import delimited
from alignset.tables.dialect import Dialect
from alignset.tables.files import check_columns, read_table, write_table

FRAME = pd.DataFrame({"age": [61.0, None, 70.0], "sex": ["f", "m", None], "n": [1, 2, 3]})


def refused(path, **options):
    with pytest.raises((ValueError, OSError)) as caught:
        read_table(path, **options)
    return str(caught.value)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "tsv.gz", "parquet", "feather"])
def test_what_is_written_is_read(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    write_table(FRAME, path)
    pd.testing.assert_frame_equal(read_table(path), FRAME)
    pd.testing.assert_frame_equal(read_table(path, columns=["n", "age"]), FRAME[["n", "age"]])
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def xpt(path, values):
    """Write one numeric column in SAS transport format (IBM doubles)."""

    def record(text, width=80):
        return text.encode().ljust(width)

    def ibm(x):
        if x == 0:
            return bytes(8)
        power = 0
        while x >= 1:
            x, power = x / 16, power + 1
        return bytes([64 + power]) + int(x * 2**56).to_bytes(7, "big")

    stamp = "01JAN20:00:00:00"
    head = "HEADER RECORD*******{} HEADER RECORD!!!!!!!{}"
    zeros = "0" * 30
    name = record("AGE", 8)
    variable = b"\0\1\0\0\0\10\0\1" + name + record("", 40) + record("", 8) + bytes(8)
    variable += record("", 8) + bytes(4) + bytes(4) + bytes(52)
    blocks = [
        record(head.format("LIBRARY", zeros)),
        record("SAS     SAS     SASLIB  9.1     Linux" + " " * 27 + stamp),
        record(stamp),
        record(head.format("MEMBER ", "000000000000000001600000000140")),
        record(head.format("DSCRPTR", zeros)),
        record("SAS     T       SASDATA 9.1     Linux" + " " * 27 + stamp),
        record(stamp + " " * 56),
        record(head.format("NAMESTR", "000000000100000000000000000000")),
        variable[:140].ljust(160),
        record(head.format("OBS    ", zeros)),
    ]
    data = b"".join(ibm(v) for v in values)
    path.write_bytes(b"".join(blocks) + data + b" " * (-len(data) % 80))


def test_a_sas_transport_file_is_read(tmp_path):
    path = tmp_path / "t.xpt"
    xpt(path, [61.0, 0.0, 70.5] * 10)
    assert read_table(path)["AGE"].tolist() == [61.0, 0.0, 70.5] * 10
    path.write_bytes(b"not SAS" * 99)
    assert refused(path).startswith(f"{path} is damaged or not a SAS transport file: ")


def test_no_such_file_no_such_format_no_rows(tmp_path):
    path = tmp_path / "t.csv"
    assert refused(path) == f"there is no file {path}."
    assert refused(tmp_path / "t.json") == (
        "t.json has no known format; tables end in .csv, .tsv, .xlsx, .parquet, .feather or .xpt "
        "(csv, tsv and xpt also with .gz)."
    )
    path.touch()
    assert refused(path) == f"{path} is empty; a table needs a header and rows."
    path.write_text("\n")
    assert refused(path) == f"{path} is empty; a table needs a header and rows."
    path.write_text("age,sex\n")
    assert refused(path) == f"{path} has columns but no rows."
    (tmp_path / "d.csv").mkdir()
    assert refused(tmp_path / "d.csv") == f"{tmp_path / 'd.csv'} is a folder; give a table file."


def test_columns_are_checked_by_name(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,sex\n61,f\n")
    assert refused(path, columns=["agee"]) == (
        f"{path} has no column 'agee'; did you mean 'age'? it has age, sex."
    )
    path.write_text("age,sex,age\n61,f,1\n")
    assert refused(path) == (
        f"{path} has 2 columns named 'age'; give every column a name of its own."
    )
    path.write_text("age,,sex\n61,1,f\n")
    assert refused(path) == f"{path} has no name for column 2; name every column."
    assert read_table(path, columns=["sex"]).to_numpy().tolist() == [["f"]]


def test_an_empty_table_and_doubled_names_are_refused():
    with pytest.raises(ValueError, match=r"^the table has no rows\.$"):
        check_columns(FRAME[:0], ["age"])
    doubled = FRAME.set_axis(["a", "a", "n"], axis=1)
    with pytest.raises(ValueError, match=r"^the table has 2 columns named 'a'; give every column"):
        check_columns(doubled, ["a"])


def test_duplicate_names_in_arrow_files(tmp_path):
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    table = pa.table([[1], [2]], names=["a", "a"])
    for suffix, write in (
        ("parquet", pa.parquet.write_table),
        ("feather", pa.feather.write_feather),
    ):
        path = tmp_path / f"t.{suffix}"
        write(table, str(path))
        assert refused(path) == (
            f"{path} has 2 columns named 'a'; give every column a name of its own."
        )
        path.write_bytes(b"PAR1 and then nothing")
        assert refused(path).startswith(f"{path} is damaged or not a {suffix} file: ")


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
@pytest.mark.parametrize("before", [0, delimited.HEAD], ids=["in the head", "after it"])
def test_the_encoding_is_found_out(tmp_path, suffix, encoding, before):
    path = tmp_path / f"t.{suffix}"
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
    content = mark + ("age,sex\n" + "61,f\n" * before + "70,féminin €\n").encode(encoding)
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    read = read_table(path)
    assert list(read.columns) == ["age", "sex"]
    assert read.iloc[-1].tolist() == [70, "féminin €"]


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_bytes_of_no_known_encoding_are_refused_with_their_line(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    pack = gzip.compress if suffix.endswith("gz") else bytes
    said = f"{path} is not UTF-8 text: byte 0x81 in line 3; save it as UTF-8, or name "
    said += "its encoding with --encoding."
    path.write_bytes(pack(b"age,sex\n61,f\n70,\x81\n"))
    assert refused(path) == said
    path.write_bytes(pack("age,größe\n61,1\n".encode() + b"70,\x81\n"))
    assert refused(path) == said
    path.write_bytes(pack("age,größe\n".encode("utf-16")[:-1]))
    assert refused(path) == f"{path} is not UTF-16 text{said[said.index('; save') :]}"


@pytest.mark.parametrize(
    ("name", "text", "lab"),
    [
        ("t.csv", "lab;n\r\n1,5;2\r\n;3\r\n", [1.5, None]),
        ("t.csv", "lab;n\n1.5;2\n;3\n", [1.5, None]),
        ("t.csv", 'lab;n\n"-1,5";2\n1;3\n', [-1.5, 1.0]),
        ("t.csv", '"lab";"n, of all"\n1;2\n1,25;3\n', [1.0, 1.25]),
        ("t.csv", "lab\tn\n0,5\t2\n", [0.5]),
        ("t.tsv", "lab,n\n0.5,2\n", [0.5]),
        ("t.tsv", "lab\tn\n1,234\t2\n", [1234.0]),
        ("t.csv", 'lab,n\n"1,5",2\n', [1.5]),
        ("t.csv", "lab\n0.5\n", [0.5]),
        ("t.csv", "lab;n\n1,5;0.5\n", ["1,5"]),
        ("t.csv", "lab,n (a; b; c)\n0.5,2\n", [0.5]),
        ("t.csv", "lab;n\n\n0,5;2\n", [0.5]),
    ],
)
def test_separator_and_decimal_mark_are_found_out(tmp_path, name, text, lab):
    path = tmp_path / name
    path.write_bytes(text.encode())
    read = read_table(path, tell=str)
    assert [None if pd.isna(value) else value for value in read["lab"]] == lab
    assert len(read.columns) == (1 if text.startswith("lab\n") else 2)


def test_a_wide_header_is_read_to_its_end(tmp_path):
    path, names = tmp_path / "t.csv", [f"measurement {i}" for i in range(9000)]
    path.write_text(";".join(names) + "\n" + ";".join("1" for _ in names) + "\n")
    assert list(read_table(path).columns) == names


def test_cells_can_be_kept_as_they_are_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id;p;answer\n007;0,5;NA\n1e3;1;\n")
    read = read_table(path, as_text=True)
    assert read.to_numpy().tolist() == [["007", "0,5", "NA"], ["1e3", "1", ""]]


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("age,sex\n61,f\n".encode("utf-8-sig"))
    assert list(read_table(path).columns) == ["age", "sex"]


def test_ragged_and_damaged_files_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,sex\n61,f\n70,m,9\n")
    assert refused(path) == (
        f"{path} cannot be read as a table: expected 2 fields in line 3, saw 3; correct that "
        "line, or quote its text."
    )
    path.write_text("age,sex\n61,f,1\n70,m,9\n")
    assert refused(path) == (
        f"{path} cannot be read as a table: its rows have more fields than its header; correct "
        "that line, or quote its text."
    )
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(b"age,sex\n" + b"61,f\n" * 999)[:-20])
    assert refused(packed).startswith(f"{packed} is damaged: ")
    packed.write_bytes(b"no gzip")
    assert refused(packed).startswith(f"{packed} is damaged: not a gzip")


def test_pieces_are_joined_without_changing_a_value(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    frame = pd.DataFrame(
        {
            "whole": range(10),
            "number": [1.5, None] * 5,
            "text": ["a"] * 5 + ["b", None] + ["c"] * 3,
            "flag": [True, False] * 5,
            "late_gap": [*range(9), None],
            "empty": [None] * 10,
        }
    )
    frame.to_csv(path, index=False)
    monkeypatch.setattr(delimited, "CHUNK_ROWS", 3)
    read = read_table(path)
    assert read["text"].dtype == "category"
    expected = frame.assign(text=frame["text"].astype("str"), empty=[float("nan")] * 10)
    pd.testing.assert_frame_equal(read.assign(text=read["text"].astype("str")), expected)


def test_numbers_in_one_piece_and_text_in_another_stay_as_written(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("zip,n\n" + "01,1\n" * 4 + "x,1\n")
    monkeypatch.setattr(delimited, "CHUNK_ROWS", 2)
    assert read_table(path)["zip"].tolist() == ["01"] * 4 + ["x"]


def test_output_is_refused_before_it_hurts(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("precious")
    for place, said in (
        (path, f"{path} exists; name another file, or pass --overwrite."),
        (tmp_path / "t.xpt", f"{tmp_path / 't.xpt'} cannot be written; write .csv, .tsv, "
         ".xlsx, .parquet or .feather."),
        (tmp_path / "no" / "t.csv", f"there is no folder {tmp_path / 'no'} to write t.csv to."),
    ):  # fmt: skip
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            write_table(FRAME, place)
        assert str(caught.value) == said
    assert path.read_text() == "precious"
    write_table(FRAME, path, overwrite=True)
    assert read_table(path)["n"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_nothing_and_changes_nothing(tmp_path, monkeypatch, error):
    path = tmp_path / "t.csv"
    path.write_text("precious")

    def fail(self, part, **options):
        part.write("half of")
        raise error

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    with pytest.raises((OSError, KeyboardInterrupt)) as caught:
        write_table(FRAME, path, overwrite=True)
    assert path.read_text() == "precious"
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]
    if isinstance(error, OSError):
        assert str(caught.value) == (
            f"the disk is full: {path} was not written, and nothing was changed; free some space."
        )


BIG = """
    import resource, sys
    from alignset.tables.files import read_table
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    frame = read_table(sys.argv[1])
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(len(frame), frame["sex"].dtype, round(grown))
"""


def test_two_million_rows_take_bounded_memory(tmp_path):
    path = tmp_path / "big.csv"
    block = "".join(f"{i % 90},{i * 0.37:.2f},{'female' if i % 2 else 'male'},{i % 3 > 0}\n"
                    for i in range(10_000))  # fmt: skip
    with path.open("w") as stream:
        stream.write("age,lab,sex,flag\n")
        for _ in range(200):
            stream.write(block)
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(BIG), str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stderr) == (0, "")
    rows, kind, megabytes = run.stdout.split()
    assert (rows, kind) == ("2000000", "category")
    # two columns of 8 bytes, two of 1 byte: 36 MB; the pieces and their join take as much again
    assert int(megabytes) < 200


def test_reading_shows_how_far_it_is(tmp_path, monkeypatch):
    path, seen = tmp_path / "t.csv", []
    path.write_text("a\n" + "1\n" * 99)

    class Shown:
        def __enter__(self):
            return lambda *said: seen.append(said)

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(delimited, "progress_bar", Shown)
    read_table(path)
    assert seen[-1] == ("reading t.csv", 200, 200)


def test_pyarrow_is_asked_for_by_name(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    FRAME.to_parquet(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r'run `pip install "alignset\[parquet\]"`, or use CSV'):
        read_table(path)


def test_whole_numbers_with_leading_zeros_stay_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,code,n,x,d\n00049461,07,7,0.5,2020-01-01\n1,,8,01.5,2020-01-02\n")
    read = read_table(path)
    assert read["id"].tolist() == ["00049461", "1"]
    assert read["code"].tolist()[0] == "07"
    assert read["code"].isna().tolist() == [False, True]
    assert read["n"].tolist() == [7, 8]
    assert read["x"].tolist() == [0.5, 1.5]


def test_columns_asked_for_as_text_are_kept_as_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,n\n1,1\n1.0,2\n 1,3\nNA,4\n,5\n99999999999999999999999,6\n")
    read = read_table(path, as_text=["id", "no such column"])
    assert read["id"].tolist()[:4] == ["1", "1.0", " 1", "NA"]
    assert read["id"].isna().tolist() == [False] * 4 + [True, False]
    assert read["id"].tolist()[5] == "9" * 23
    assert read["n"].tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "lines",
    [
        'a,"x,1\nb,y,2\nc,z"w,3\n',
        '1,"x,1\n2,y"z,2\n',
        '1,x,"1\n2,y,2\n3,z,3"\n',
    ],
)
def test_rows_inside_a_cell_are_refused_even_if_the_cell_is_not_read(tmp_path, lines):
    path = tmp_path / "t.csv"
    path.write_text("id,note,n\n" + "".join(f"{i},x,{i}\n" for i in range(9)) + lines)
    assert "so rows would be lost" in refused(path)
    assert "so rows would be lost" in refused(path, columns=["n"])


def test_text_of_several_lines_is_not_taken_for_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('id,note,n\n1,"one, two, 3\nfour, five\n6, 7",1\n2,"a\nb",2\n')
    assert read_table(path)["note"].tolist() == ["one, two, 3\nfour, five\n6, 7", "a\nb"]


def test_cells_lines_and_packed_files_have_a_limit(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n3," + "x" * 131_073 + "\n")
    assert "has a cell of more than 131072 characters that ends in line 3" in refused(path)
    path.write_text("a," + "b" * 131_073 + "\n1,2\n")
    assert "has a cell of more than 131072 characters that ends in line 1" in refused(path)
    path.write_text("a," + "b" * 131_000 + "\n1,2\n")
    assert len(read_table(path)) == 1
    monkeypatch.setattr("alignset.tables.scan.MAX_UNPACKED", 1 << 20)
    bomb = tmp_path / "t.csv.gz"
    bomb.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * (1 << 20)))
    assert "unpacks to more than" in refused(bomb)


def read_in_a_child(path):
    """Exit code of a process that reads a table: 0 read, 1 refused in one line, else a crash."""
    child = os.fork()
    if child == 0:
        code = 2
        try:
            read_table(path)
            code = 0
        except ValueError as error:
            code = 1 if str(error).isprintable() and len(str(error)) < 500 else 3
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_flipped_bit_in_a_feather_file_crashes_nothing_and_shows_no_memory(tmp_path):
    """Lengths and offsets of texts were followed wherever they pointed."""
    frame = pd.DataFrame({"text": ["a", "bb", "ccc"] * 20, "n": range(60)})
    frame.to_feather(tmp_path / "t.feather", compression="uncompressed")
    whole = (tmp_path / "t.feather").read_bytes()
    codes = set()
    for at in range(0, len(whole), len(whole) // 120):
        flipped = bytearray(whole)
        flipped[at] ^= 0x80
        (tmp_path / "u.feather").write_bytes(flipped)
        codes.add(read_in_a_child(tmp_path / "u.feather"))
    assert codes == {0, 1}


@pytest.mark.parametrize("mark", ["\\", "]", "^", "[", "|", "$", "~"])
def test_any_mark_that_is_named_separates(tmp_path, mark):
    (tmp_path / "t.csv").write_text(f"pid{mark}n\n007{mark}1.5\n008{mark}2\n")
    read = read_table(tmp_path / "t.csv", dialect=Dialect(separator=mark))
    assert read.to_dict("list") == {"pid": ["007", "008"], "n": [1.5, 2.0]}
