"""Training on a GPU: many replicas of the two-stage method as one stack; agreement with the CPU.

    python benchmarks/gpu.py [--replicas 2000] [--profile]

Width 100, 3 800 training rows of the published synthetic data, early stopping as in the paper.
"""

from __future__ import annotations

import argparse
import time

import measure
import numpy as np
import torch
from loop import METHODS, make_configs, make_problems

from alignset.engine import Trainer

CONFIGS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicas", type=int, default=2000)
    parser.add_argument("--width", type=int, default=100)
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    print(torch.__version__, torch.cuda.get_device_name(0))
    problems = make_problems(args.replicas // CONFIGS)
    rows = []
    for name, method in METHODS.items():
        configs = make_configs(name, CONFIGS)
        trainer = Trainer(hidden=args.width, device="cuda")
        Trainer(hidden=args.width, device="cuda", max_epochs=3).fit(method, problems[:2], configs)
        torch.cuda.synchronize()
        start = time.perf_counter()
        fits = trainer.fit(method, problems, configs)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        epochs = fits.epochs.sum().item()
        print(
            f"{name:10} {len(problems) * CONFIGS} replicas {seconds:.2f} s, "
            f"{epochs / fits.score.numel():.0f} epochs on average, "
            f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GiB",
            flush=True,
        )
        if name == "Alignment":
            rows.append(
                measure.row("GPU: 2 000 replicas of Alignment, s", seconds, 8, at_most=True)
            )
        agree(name, method, problems[:1], configs[:6], args.width)
    measure.write(rows, "gpu")
    if args.profile:
        profile(problems, args.width)


def agree(name: str, method, problems, configs, width: int) -> None:
    """Validation scores on the two devices, with the spread over configs beside them."""
    score = {
        device: Trainer(hidden=width, device=device).fit(method, problems, configs).score.numpy()
        for device in ("cpu", "cuda")
    }
    gap = np.abs(score["cpu"] - score["cuda"]).max()
    print(f"{name:10} CPU and GPU validation scores differ by at most {gap:.4f}")


def profile(problems, width: int) -> None:
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as record

    trainer = Trainer(hidden=width, device="cuda", max_epochs=10)
    configs = make_configs("Alignment", CONFIGS)
    with record(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recorded:
        trainer.fit(METHODS["Alignment"], problems, configs)
        torch.cuda.synchronize()
    for key in ("self_cuda_time_total", "self_cpu_time_total"):
        print(recorded.key_averages().table(sort_by=key, row_limit=18, max_name_column_width=50))


if __name__ == "__main__":
    main()
