"""Run the kernels' tests and a fuzzer of shapes under the address and the thread sanitizer.

    python tools/attack_native.py [--shapes 300]

The kernels are compiled by gcc with the sanitizer, which is loaded before Python. A report counts
if it is about the kernels: other libraries are not instrumented. Writes docs/hardening/native.md.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SANITIZERS = {
    "address, undefined": ("-fsanitize=address,undefined -fno-sanitize-recover=undefined -g",
                           "libasan.so", {"ASAN_OPTIONS": "detect_leaks=0:exitcode=66"}),
    "thread": ("-fsanitize=thread -g", "libtsan.so",
               {"TSAN_OPTIONS": "exitcode=0:report_bugs=1:ignore_noninstrumented_modules=1"}),
}  # fmt: skip
TESTS = ["tests/stack/kernels/test_c_mlp.py", "tests/stack/kernels/test_c_rowwise.py",
         "tests/stack/kernels/test_c_sparse.py", "tests/stack/test_threads.py",
         "tests/stack/test_sparse.py"]  # fmt: skip


def fuzz(n: int) -> int:
    """Compare C with torch on odd shapes: outputs, gradients, losses, sums and steps of Adam."""
    import sanitized  # noqa: F401  # before the kernels are chosen
    import torch

    from alignset.stack import kernels

    if kernels.which() != "c":
        raise RuntimeError("the kernels were not compiled")
    chosen, draw = kernels._decided(), torch.Generator().manual_seed(15)

    def pick(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=draw))

    def both(work: object) -> list[list[torch.Tensor]]:
        found = []
        for own in (chosen, kernels._TORCH):
            kernels._decided = lambda own=own: own
            found.append(work())
        return found

    worst = 0.0
    for i in range(n):
        worst = max(worst, _compare(i, pick, draw, both))
    sys.stdout.write(f"{3 * n} passed, worst relative gap {worst:.1e}\n")
    return 0


def _compare(i: int, pick: Any, draw: Any, both: Any) -> float:
    """Compare one random shape; return the largest relative gap."""
    import torch

    from alignset.stack import MLP, NetShape, kernels
    from alignset.stack.threads import team

    q, c, rows = pick(1, 3), pick(1, 4), pick(1, 40) if i % 2 else pick(1, 1300)
    inputs, threads = tuple(pick(1, 90) for _ in range(pick(1, 2))), pick(1, 3)
    mlp = MLP(pick(1, 70), depth=pick(1, 3), last_relu=bool(pick(0, 1)))
    shape = NetShape(inputs, pick(1, 5))
    params = {
        k: torch.randn(q, c, *v.shape[2:], generator=draw) / v.shape[-1] ** 0.5
        for k, v in mlp.init(shape, torch.arange(q), "theta").items()
    }
    owned = [c if pick(0, 1) else 1 for _ in inputs]
    blocks = tuple(
        torch.randn(q, own, rows, d, generator=draw) for own, d in zip(owned, inputs, strict=True)
    )
    cpu = torch.device("cpu")

    def forward_and_back() -> list[torch.Tensor]:
        leaves = {k: v.clone().requires_grad_(True) for k, v in params.items()}
        with team(threads):
            out = mlp.apply(shape, leaves, blocks)
            # of one sign: a sum that cancels to 0 has nothing but rounding to compare
            wave = torch.linspace(0.2, 1, out.numel()).sin().reshape(out.shape)
            grads = torch.autograd.grad((out * wave).sum(), list(leaves.values()))
        return [out.detach(), *grads]

    def rowwise() -> list[torch.Tensor]:
        g = torch.Generator().manual_seed(i)
        z = torch.randn(q, c, 2, rows, generator=g).requires_grad_(True)
        sign = torch.randn(q, 1, rows, generator=g).sign()
        weight = torch.rand(q, 1, 3, rows, generator=g)
        loss = kernels.on(cpu).pair_loss(z, sign)
        sums = kernels.on(cpu).weighted_sums(loss, weight)
        return [loss.detach(), sums.detach(), *torch.autograd.grad(sums.sum(), [z])]

    def adam() -> list[torch.Tensor]:
        own = {k: v.clone() for k, v in params.items()}
        zero = [{k: torch.zeros_like(v) for k, v in own.items()} for _ in range(2)]
        rate = torch.full((q, c), 0.01)
        step = kernels.on(cpu).adam(own, *zero, rate, rate * 0.1)
        step({k: v.sin() for k, v in own.items()}, torch.tensor(1))
        return list(own.values())

    worst = 0.0
    for work in (forward_and_back, rowwise, adam):
        for a, b in zip(*both(work), strict=True):
            gap = float((a - b).abs().max() / b.abs().max().clamp_min(1e-3))
            worst = max(worst, gap)
            if not gap < 1e-3:
                raise AssertionError(f"shape {i}: {work.__name__} differs by {gap}")
    return worst


CONTROL = """
volatile int shared;
void race(void) { for (int i = 0; i < 2000000; i++) shared++; }
int beyond(int n) { int room[4] = {0}; volatile int *at = room; return at[n]; }
"""
"""A race and a read beyond an array: a sanitizer that does not see them proves nothing."""


def control(folder: str) -> int:
    """Do what the sanitizer must report."""
    import ctypes
    import threading

    source, made = Path(folder, "control.c"), Path(folder, "control.so")
    source.write_text(CONTROL)
    flags = ["-O1", "-shared", "-fPIC", *os.environ["ALIGNSET_SANITIZER"].split()]
    quiet = {**os.environ, "LD_PRELOAD": ""}
    subprocess.run(["gcc", *flags, str(source), "-o", str(made)], check=True, env=quiet)
    library = ctypes.CDLL(str(made))
    threads = [threading.Thread(target=library.race) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    library.beyond(4)
    sys.stdout.write("0 passed\n")
    return 0


def sanitized_run(
    name: str, command: list[str], cache: str, *, quiet: bool = False
) -> tuple[str, int]:
    """Run a command with a sanitizer; return what it counted, and reports about the kernels."""
    flags, library, options = SANITIZERS[name]
    # torch throws exceptions, which the sanitizer must know before it begins
    loaded = [
        subprocess.run(
            ["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in (library, "libstdc++.so.6")
    ]
    env = {
        **os.environ, **options, "ALIGNSET_SANITIZER": flags, "ALIGNSET_NATIVE": "1",
        "LD_PRELOAD": " ".join(loaded), "XDG_CACHE_HOME": f"{cache}/{library}",
        "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT / "tests", ROOT / "tools"))),
        "OMP_NUM_THREADS": "1", "PYTHONMALLOC": "malloc",
    }  # fmt: skip
    ended = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=ROOT)
    said = ended.stdout + ended.stderr
    passed = re.search(r"(\d+) passed", said)
    reports = re.findall(r"(?:ERROR|WARNING): \w+Sanitizer.*|runtime error: .*", said)
    about = [r for r in reports if "Sanitizer" in r or ".c:" in r]
    if ended.returncode or passed is None:
        sys.stdout.write("" if quiet else said[-3000:])
        return "did not pass", len(about) + 1
    return passed[1], len(about)


def attack() -> int:
    """Do all of it and write the page."""
    from tally import write_page

    ask = argparse.ArgumentParser()
    ask.add_argument("--shapes", type=int, default=300)
    ask.add_argument("--fuzz", type=int, help="only fuzz, in this process")
    ask.add_argument("--control", help="only do what is reported, in this folder")
    asked = ask.parse_args()
    if asked.control:
        return control(asked.control)
    if asked.fuzz:
        return fuzz(asked.fuzz)
    blind = False
    rows: list[list[object]] = [["sanitizer", "what ran", "passed", "reports"]]
    with tempfile.TemporaryDirectory() as cache:
        for name in SANITIZERS:
            tests = [sys.executable, "-m", "pytest", "-q", "-p", "sanitized", "-p",
                     "no:cacheprovider", "-p", "no:faulthandler", *TESTS]  # fmt: skip
            shapes = [sys.executable, str(Path(__file__)), "--fuzz", str(asked.shapes)]
            planted = [sys.executable, str(Path(__file__)), "--control", cache]
            seen = sanitized_run(name, planted, cache, quiet=True)[1]
            rows.append([name, "a planted error", "reported" if seen else "NOT SEEN", 0])
            blind |= not seen
            for what, command in (("the kernels' tests", tests), ("odd shapes", shapes)):
                rows.append([name, what, *sanitized_run(name, command, cache)])
    write_page(
        "attack_native.py", "Sanitizers",
        f"The kernels compiled by gcc with sanitizers: their tests, and {asked.shapes} random "
        "shapes of networks, losses and steps of Adam, in which C must agree with torch.", rows,
    )  # fmt: skip
    return int(blind or any(row[3] for row in rows[1:]))


if __name__ == "__main__":
    sys.exit(attack())
