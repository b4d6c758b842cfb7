import subprocess
import sys

import pytest
from data.file_server import CONTENT, toy_source

from alignset.data import cache, download, sources

WITHOUT = """
import sys
sys.modules["pooch"] = sys.modules["requests"] = None  # importing them fails
import alignset.data.download
from alignset.data import load_adult, make_synthetic
make_synthetic(100, random_state=0)
"""


def test_data_are_made_and_read_without_what_only_downloads_need(tmp_path, monkeypatch):
    subprocess.run([sys.executable, "-c", WITHOUT], check=True)
    monkeypatch.setitem(sys.modules, "pooch", None)
    (tmp_path / "toy.bin").write_bytes(CONTENT)
    assert cache.read(toy_source(None), folder=tmp_path) == {"toy.bin": CONTENT}


def test_a_download_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setenv("ALIGNSET_DATA", str(tmp_path))
    monkeypatch.setitem(sources.SOURCES, "toy", toy_source("http://127.0.0.1:9/toy.bin"))
    monkeypatch.setitem(sys.modules, "requests", None)
    with pytest.raises(ImportError) as error:
        cache.get("toy")
    assert str(error.value) == (
        "downloading data needs requests, which is not installed; run "
        '`pip install "alignset[data]"`.'
    )


def test_a_growing_file_that_is_already_too_long_is_begun_again(tmp_path):
    file = toy_source(None).files[0]
    part = tmp_path / f"{file.name}.{file.sha256[:8]}.part"
    part.write_bytes(CONTENT + b"more")
    with pytest.raises(download.DownloadError, match="cannot be reached"):
        download.from_origin("http://127.0.0.1:9/toy.bin", file, tmp_path, lambda *report: None)
    assert part.read_bytes() == b""


def test_a_published_file_can_be_read_by_whoever_may_read_the_folder(tmp_path):
    file = toy_source(None).files[0]
    download.save_verified(CONTENT, file, tmp_path, "here")
    (tmp_path / "plain").write_bytes(b"")
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1
