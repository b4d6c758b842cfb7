"""What every compiler flag of the C kernels does to their results, on random numbers.

    python benchmarks/rounding.py

Each variant is compiled as the kernels are, with one flag left out or added, and computes the same
things. Printed per kernel: the largest difference from what is shipped, relative to the largest
number of a result; 0 means every bit is the same. The last column says whether loading the variant
makes the whole process flush subnormal numbers to zero.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import scipy.sparse
import torch

from alignset.stack.kernels import build
from alignset.stack.kernels.c import C
from alignset.stack.kernels.torch import Torch

FTZ = """
import ctypes, sys, numpy as np
ctypes.CDLL(sys.argv[1])
print(np.float32(1e-38) * np.float32(1e-3) == 0)
"""
ASIDE = ("-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-fassociative-math",
         "-ffp-contract=fast", "-funroll-loops")  # fmt: skip


def variants() -> dict[str, str]:
    plain = " ".join(f for f in build.FLAGS.split() if f not in ASIDE)
    without = {f"without {flag}": build.FLAGS.replace(f" {flag}", "") for flag in ASIDE}
    return {**without, "none of these": plain, "-ffast-math": f"{build.FLAGS} -ffast-math"}


def results(kernels: Torch, dtype: torch.dtype = torch.float32) -> dict[str, list[torch.Tensor]]:
    g = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=g).to(dtype)

    q, c, h, d, b = 2, 10, 100, 30, 760
    flat = [draw(q, c, h, d), draw(q, c, h, 1), draw(q, c, h, h), draw(q, c, h, 1)]
    flat += [draw(q, c, 2, h), draw(q, c, 2, 1)]
    logits, back = kernels.mlp(True, (draw(q, 1, b, d),), flat)
    z, sign = draw(q, c, 2, b).requires_grad_(True), draw(q, 1, b).sign()
    pair, logit = kernels.pair_loss(z, sign), kernels.logit_loss(z[:, :, 0], sign)
    slopes = [torch.autograd.grad(loss.sum(), z)[0] for loss in (pair, logit)]
    params, first, second = ({"w": draw(q, c, h, d) ** 2} for _ in range(3))
    step = kernels.adam(params, first, second, draw(q, c) ** 2, draw(q, c) ** 2)
    step({"w": draw(q, c, h, d)}, torch.tensor(3.0, dtype=torch.float64))
    numbers = np.float32 if dtype == torch.float32 else np.float64
    x = scipy.sparse.random(b, 900, 0.02, "csc", np.float32, np.random.default_rng(0))
    columns, product = [x.astype(numbers)], draw(1, h, b)
    kernels.sparse_product(columns, draw(1, 900, h), product)
    return {
        "network": [logits],
        "its gradient": [t for t in back(draw(*logits.shape), (False,)) if t is not None],
        "losses": [pair, logit, *slopes],
        "sums": [kernels.weighted_sums(draw(q, c, b), draw(q, 1, 3, b).abs())],
        "Adam": [params["w"], first["w"], second["w"]],
        "sparse": [product, kernels.sparse_gradient(columns, draw(1, h, b))],
    }


def largest(these: list[torch.Tensor], those: list[torch.Tensor]) -> float:
    return max(
        ((a - b).abs().max() / b.abs().max()).item() for a, b in zip(these, those, strict=True)
    )


def main() -> None:
    torch.set_num_threads(1)
    path = build.compiled()
    shipped, double = results(C(path)), results(Torch(), torch.float64)
    lines = {"torch": (results(Torch()), path), "torch, double precision": (double, path)}
    for name, flags in variants().items():
        own = build.compiled(flags)
        lines[name] = (results(C(own)), own)
    print("| " + " | ".join(["", *shipped, "flushes"]) + " |\n" + "|---" * (len(shipped) + 2) + "|")
    for name, (found, own) in lines.items():
        cells = [f"{largest(found[kind], shipped[kind]):.0e}" for kind in shipped]
        cells = ["0" if float(cell) == 0 else cell for cell in cells]
        code = [sys.executable, "-c", FTZ, str(own)]
        flushes = subprocess.run(code, capture_output=True, text=True, check=True).stdout.strip()
        print(f"| {name} | " + " | ".join([*cells, {"True": "yes"}.get(flushes, "no")]) + " |")


if __name__ == "__main__":
    main()
