import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import pooch
import pytest

from alignset.stack.kernels import build, constants


def compiler():
    try:
        return build._compiler()
    except FileNotFoundError:
        return None


needs_compiler = pytest.mark.skipif(compiler() is None, reason="needs a C compiler")


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A folder with a C file, constants and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "HERE", tmp_path)
    monkeypatch.setattr(sys, "platform", "linux")
    (tmp_path / "one.c").write_text("int one(void) { return ROWS; }")
    (tmp_path / "constants.py").write_text('FOR_C = {"ROWS": 7}')
    return tmp_path


@needs_compiler
def test_a_file_is_compiled_once_and_again_when_anything_changes(sources, monkeypatch):
    assert build.find() is None
    first = build.compiled()
    assert build.find() == first == build.compiled()
    assert sorted(build.cache_folder().iterdir()) == [first, build.digest_file(first)]
    found = {first}
    (sources / "constants.py").write_text('FOR_C = {"ROWS": 8}')
    assert build.find() is None
    found.add(build.compiled())
    (sources / "one.c").write_text("int one(void) { return 1; }")
    found.add(build.compiled())
    found.add(build.compiled("-shared -fPIC"))
    monkeypatch.setattr(build, "_processor", lambda: b"another one")
    assert build.find() is None  # as on the machine a wheel was copied to
    found.add(build.compiled())
    assert len(found) == len(list(build.cache_folder().glob("*.so"))) == 5


@needs_compiler
def test_what_came_with_the_wheel_is_used_first(sources):
    path = build.compiled()
    for each in (path, build.digest_file(path)):
        (sources / each.name).write_bytes(each.read_bytes())
    assert build.find() == sources / path.name


@needs_compiler
def test_what_does_not_compile_leaves_nothing_behind(sources):
    (sources / "bad.c").write_text("this is not C")
    with pytest.raises(subprocess.CalledProcessError):
        build.compiled()
    assert list(build.cache_folder().iterdir()) == []


@needs_compiler
def test_what_a_killed_compilation_left_is_swept(sources):
    build.cache_folder().mkdir(parents=True)
    for name, age in (("part-old", 7200), ("part-new", 60)):
        (build.cache_folder() / name).mkdir()
        os.utime(build.cache_folder() / name, (time.time() - age,) * 2)
    build.compiled()
    assert [path.name for path in build.cache_folder().glob("part-*")] == ["part-new"]


def test_without_a_compiler_the_reason_is_said(sources, monkeypatch):
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    for attempt in (build.compiled, build.in_background):
        with pytest.raises(FileNotFoundError, match="no C compiler was found; install gcc"):
            attempt()


@needs_compiler
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_code_others_could_have_changed_is_not_used(sources):
    build.compiled()
    build.cache_folder().chmod(0o777)
    for attempt in (build.compiled, build.find):
        with pytest.raises(OSError, match="can be written to by others; only you may write to it"):
            attempt()


@needs_compiler
@pytest.mark.parametrize("share", [0, 0.01, 0.3, 0.6, 0.99])
def test_a_truncated_file_is_not_loaded_and_compiled_again(sources, share):
    """It ended every later start with SIGBUS, or made it slow for ever."""
    path = build.compiled()
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    assert build.find() is None
    with pytest.raises(OSError, match="is damaged"):
        build.verified(path)
    assert build.compiled() == path
    assert build.find() == path
    assert path.stat().st_size == len(whole)


@needs_compiler
def test_a_flipped_bit_and_a_missing_digest_are_noticed(sources):
    path = build.compiled()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert build.find() is None
    build.digest_file(build.compiled()).unlink()
    assert build.find() is None
    assert build.is_whole(build.compiled())


@needs_compiler
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_no_folder_above_may_be_changed_by_others(sources):
    """Whoever can write to a parent can put a folder of their own in the cache folder's place."""
    build.compiled()
    parent = sources / "cache"
    for mode, safe in ((0o777, False), (0o775, False), (0o1777, True), (0o755, True)):
        parent.chmod(mode)
        for attempt in (build.compiled, build.find):
            if safe:
                assert attempt()
                continue
            with pytest.raises(OSError, match=f"{parent}, in which .* written to by others; run"):
                attempt()


@needs_compiler
@pytest.mark.skipif(os.name != "posix" or os.geteuid(), reason="only root can give files away")
def test_what_belongs_to_somebody_else_is_not_loaded(sources):
    path = build.compiled()
    os.chown(path, 12345, -1)
    with pytest.raises(OSError, match="belongs to or can be written to by others"):
        build.verified(path)
    os.chown(path, 0, -1)
    build.verified(path)
    os.chown(sources / "cache", 12345, -1)
    with pytest.raises(OSError, match="belongs to or can be written to by others"):
        build.find()


@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="needs descriptors with names")
def test_what_was_checked_is_what_is_loaded(sources, tmp_path):
    """A file that is put in its place after the check is not loaded; nor is a link followed."""
    path = build.compiled()
    name = build.verified(path)
    (sources / "one.c").write_text("int one(void) { return 666; }")
    os.replace(build.compiled(), path)
    assert ctypes.CDLL(name).one() == 7
    assert ctypes.CDLL(str(path)).one() == 666
    target = tmp_path / "planted"
    os.replace(path, target)
    path.symlink_to(target)
    with pytest.raises(OSError, match="symbolic links"):
        build.verified(path)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_the_cache_folder_is_the_one_that_data_files_are_in(monkeypatch, tmp_path):
    for named in (None, str(tmp_path)):
        if named:
            monkeypatch.setenv("XDG_CACHE_HOME", named)
        assert build.cache_folder().parent == Path(pooch.os_cache("alignset"))


@pytest.mark.parametrize(
    ("system", "variable", "folder"),
    [("darwin", None, "Library/Caches"), ("win32", "LOCALAPPDATA", "local"), ("win32", None, "")],
)
def test_other_systems_have_their_own_cache_folder(system, variable, folder, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", system)
    for name in ("LOCALAPPDATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / folder))
    expected = tmp_path / (folder or "AppData/Local") / "alignset/kernels"
    assert build.cache_folder() == expected


def test_c_has_no_constant_of_its_own():
    for source in build.HERE.glob("*.c"):
        text = source.read_text()
        for name in constants.FOR_C:
            assert f"define {name}" not in text
            assert f"{name} =" not in text
        for value in ("0.9", "0.999", "1e-8"):
            assert value not in text
