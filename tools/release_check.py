"""Build wheel and sdist, install them where there is no source tree, and use them.

For every interpreter and set of versions asked for: a new virtual environment, the wheel with its
core dependencies (the newest that the registry has, or the oldest that ``pyproject.toml`` allows),
an empty folder; there the README's first example is run, then the way from a table to predictions
on the command line. The wheel is built from the sdist, so that is tested, too.

    python tools/release_check.py                                       # this Python, newest
    python tools/release_check.py --python 3.11 3.12 3.13 --versions newest oldest
    python tools/release_check.py --extra network --constraint constraints.txt
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOWER = re.compile(r"^([A-Za-z0-9_.-]+)>=([0-9.]+)$")

WORKFLOW = """
import numpy as np, pandas as pd
from alignset.cli import main

rng = np.random.default_rng(0)
n = 400
frame = pd.DataFrame({"person": [f"{i:05d}" for i in range(n)]})
frame["age"] = rng.normal(60, 9, n).round(1)
frame["sex"] = rng.choice(["f", "m"], n)
true = np.where(frame["age"] + rng.normal(0, 5, n) > 62, "ill", "well")
frame["told"] = np.where(rng.random(n) < 0.15, "well", true)
frame.to_csv("table.csv", index=False)
names = ["--label", "told", "--group", "sex", "--id", "person"]

def run(*argv):
    assert main(list(map(str, argv))) == 0, argv

run("plan", "table.csv", "--label", "told", "--group", "sex", "--precision", "0.1")
run("sample", "table.csv", "--n", 120, *names, "-o", "sheet.csv")
run("review", "sheet.csv", "-o", "review.html")
sheet = pd.read_csv("sheet.csv", dtype=str)
sheet["reviewed"] = true[sheet["person"].astype(int)]
sheet.to_csv("sheet.csv", index=False)
run("join", "sheet.csv", "table.csv", "-o", "reviewed.csv")
run("fit", "reviewed.csv", *names, "--truth", "reviewed", "--configs", 2, "--out", "model")
run("audit", "model", "reviewed.csv")
run("threshold", "model", "--target", "tpr=0.8")
run("predict", "model", "table.csv", "-o", "predictions.csv")
run("monitor", "model", "table.csv")
assert len(pd.read_csv("predictions.csv")) == n
"""


def main() -> None:
    """Build, install and use, and print a table; exit with 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--python", nargs="+", default=[f"{sys.version_info[0]}.{sys.version_info[1]}"]
    )
    parser.add_argument("--versions", nargs="+", choices=["newest", "oldest"], default=["newest"])
    parser.add_argument("--extra", nargs="*", default=[], help="extras to install, too")
    parser.add_argument("--constraint", help="pip's constraints file")
    given = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder / "dist")
        print(
            "| Python | versions | installed | size | README and workflow |\n|---|---|---|---|---|"
        )
        for python in given.python:
            for versions in given.versions:
                told, fine = check(folder, wheel, python, versions, given)
                failed += not fine
                print(f"| {python} | {versions} | {told} |", flush=True)
    sys.exit(failed > 0)


def build(folder: Path) -> Path:
    """Build an sdist, and a wheel from it; return the wheel."""
    tool = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(tool, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    for made in (sdist, wheel):
        print(f"{made.name}: {made.stat().st_size >> 10} KB")
    return wheel


def check(
    folder: Path, wheel: Path, python: str, versions: str, given: argparse.Namespace
) -> tuple[str, bool]:
    """Install into a new environment and use it; return cells of the table, and whether it went."""
    place = folder / f"{python}-{versions}"
    subprocess.run([find_python(python), "-m", "venv", str(place / "venv")], check=True)
    own = str(place / "venv" / "bin" / "python")
    what = f"{wheel}[{','.join(given.extra)}]" if given.extra else str(wheel)
    pins = lowest() if versions == "oldest" else []
    more = ["-c", given.constraint] if given.constraint else []
    begun = time.monotonic()
    pip = [own, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    done = subprocess.run([*pip, *more, what, *pins], check=False, capture_output=True, text=True)
    if done.returncode:
        return f"failed | | {done.stderr.strip().splitlines()[-1]}", False
    seconds = time.monotonic() - begun
    size = sum(f.stat().st_size for f in (place / "venv").rglob("*") if f.is_file()) >> 20
    told = use(own, place / "empty")
    shutil.rmtree(place)
    return f"{seconds:.0f} s | {size} MB | {told or 'fine'}", not told


def use(python: str, folder: Path) -> str:
    """Run the README's first example and the workflow in an empty folder; return what failed."""
    folder.mkdir()
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    for name, code in (("README", readme_example()), ("workflow", WORKFLOW)):
        begun = time.monotonic()
        done = subprocess.run(
            [python, "-I", "-c", code],
            cwd=folder,
            env=env,
            check=False,
            capture_output=True,
            text=True,
        )
        print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
        if done.returncode:
            print(done.stdout[-2000:], done.stderr[-4000:], file=sys.stderr)
            return f"{name}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}"
    return ""


def readme_example() -> str:
    """Return the first Python block of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.partition("```python\n")[2].partition("```")[0]


def lowest() -> list[str]:
    """Pin every core dependency to the oldest release line that the metadata allow."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = [LOWER.match(line) for line in project["dependencies"]]
    return [f"{name}~={low}.0" if low.count(".") == 1 else f"{name}=={low}" for name, low in
            (each.groups() for each in found if each)]  # fmt: skip


def find_python(version: str) -> str:
    """Return an interpreter: of this process, on the path, or of pyenv."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    found = shutil.which(f"python{version}")
    if found and "shims" not in found:
        return found
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for place in sorted(home.glob(f"{version}.*"), reverse=True):
        return str(place / "bin" / "python")
    raise SystemExit(f"there is no Python {version} on the path or in {home}")


if __name__ == "__main__":
    main()
