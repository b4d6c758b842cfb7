import os
import subprocess
import sys

import pytest

from alignset.stack import native


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A folder of C files and an empty cache."""
    monkeypatch.delenv("ALIGNSET_NATIVE", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache")
    monkeypatch.setattr(native.resources, "files", lambda package: tmp_path)
    native.library.cache_clear()
    yield tmp_path
    native.library.cache_clear()


needs_compiler = pytest.mark.skipif(native._compiler() is None, reason="needs a C compiler")


@needs_compiler
def test_a_file_is_compiled_once_and_again_when_it_changes(sources):
    (sources / "seven.c").write_text("int seven(void) { return 7; }")
    assert native.library("seven").seven() == 7
    native.library.cache_clear()
    assert native.library("seven").seven() == 7
    assert len(list((sources / "cache/native").iterdir())) == 1
    native.library.cache_clear()
    (sources / "seven.c").write_text("int seven(void) { return 8; }")
    assert native.library("seven").seven() == 8


@needs_compiler
def test_what_does_not_compile_is_not_used(sources):
    (sources / "bad.c").write_text("this is not C")
    assert native.library("bad") is None
    assert list((sources / "cache/native").iterdir()) == []


def test_without_a_compiler_there_is_no_library(sources, monkeypatch):
    (sources / "seven.c").write_text("int seven(void) { return 7; }")
    monkeypatch.setattr(native.shutil, "which", lambda name: None)
    assert native.library("seven") is None


def test_it_can_be_switched_off(sources, monkeypatch):
    (sources / "seven.c").write_text("int seven(void) { return 7; }")
    monkeypatch.setenv("ALIGNSET_NATIVE", "0")
    assert native.library("seven") is None


@needs_compiler
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_code_others_could_have_changed_is_not_loaded(sources):
    (sources / "seven.c").write_text("int seven(void) { return 7; }")
    folder = sources / "cache/native"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert native.library("seven") is None


@needs_compiler
def test_loading_leaves_the_rounding_of_the_process_alone():
    code = (
        "import numpy as np; from alignset.stack import native; "
        "[native.library(n) for n in ('mlp', 'sparse')]; "
        "assert np.float32(1e-38) * np.float32(1e-3) != 0"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
