"""The wheel's build hook, called as hatchling calls it."""

import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from alignset.stack import kernels
from alignset.stack.kernels import build

ROOT = Path(__file__).parents[1]
NAME = "hatchling.builders.hooks.plugin.interface"
needs_c = pytest.mark.skipif(kernels.which() != "c", reason="needs the kernels in C")


@pytest.fixture
def run(monkeypatch):
    """Run the hook for a version of the wheel; returns what it asks for and its warnings."""
    monkeypatch.delenv("ALIGNSET_NATIVE", raising=False)
    interface = ModuleType(NAME)
    interface.BuildHookInterface = object
    monkeypatch.setitem(sys.modules, NAME, interface)
    for depth in range(1, NAME.count(".") + 1):
        package = NAME.rsplit(".", depth)[0]
        monkeypatch.setitem(sys.modules, package, ModuleType(package))

    def hook(version):
        told, asked = [], {"force_include": {}}
        made = runpy.run_path(str(ROOT / "hatch_build.py"))["CompiledKernels"]()
        made.root, made.app = str(ROOT), SimpleNamespace(display_warning=told.append)
        made.initialize(version, asked)
        return asked, told

    return hook


PURE = {"force_include": {}}


@needs_c
def test_a_wheel_carries_the_kernels_under_the_name_that_is_looked_for(run):
    asked, told = run("standard")
    path = build.find()
    assert not told
    names = [f"alignset/stack/kernels/{path.name}", f"alignset/stack/kernels/{path.name}.sha256"]
    assert list(asked["force_include"].values()) == names
    assert asked["pure_python"] is False
    assert asked["tag"].startswith("py3-none-")


@needs_c
def test_an_editable_install_compiles_into_the_cache_and_stays_pure(run):
    assert run("editable") == (PURE, [])


def test_a_pure_wheel_can_be_asked_for(run, monkeypatch):
    monkeypatch.setenv("ALIGNSET_NATIVE", "0")
    assert run("standard") == (PURE, [])


def test_without_a_compiler_the_wheel_is_pure_and_the_reason_is_told(run, monkeypatch, tmp_path):
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    asked, told = run("standard")
    assert asked == PURE
    assert "the C kernels were not compiled, torch is used: no C compiler was found" in told[0]
