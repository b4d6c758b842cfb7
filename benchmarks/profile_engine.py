"""Where the time of an epoch goes: networks, losses, Adam, gathers and sorting, the rest.

    python benchmarks/profile_engine.py [--widths 10 100 500]

One stack of the size the engine chooses, one thread, CPU time. FLOPs are those of the matrix
products (forward, gradient of weights, gradient of hidden layers); the peak is a 2048 x 2048
product measured in the same run.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from loop import METHODS, make_configs, make_problems
from stack_vs_loop import flops, matrix_peak
from torch.profiler import ProfilerActivity, profile, record_function

from alignset.engine import FixedLength, Trainer
from alignset.engine.train import Schedule, Training
from alignset.evaluate.validation import HarmonicMean
from alignset.stack import MLP, StackedAdam

KINDS = {
    "networks": ("network", "_Logits", "_LogitsBackward", "aten::bmm", "aten::baddbmm"),
    "losses": ("_RowLoss", "_RowLossBackward", "_WeightedSums", "_WeightedSumsBackward"),
    "Adam": ("Adam", "aten::lerp_", "aten::addcmul_", "aten::addcdiv_", "aten::sqrt"),
    "gathers, sorting": ("aten::index_select", "aten::sort", "aten::gather", "aten::argsort"),
}  # fmt: skip


def name_in_profile(owner: type, method: str, label: str) -> None:
    """Let a method show up under a name of its own: C called from Python has none."""
    plain = getattr(owner, method)

    def named(*args: Any) -> Any:
        with record_function(label):
            return plain(*args)

    setattr(owner, method, named)


def make_training(method: str, hidden: int, epochs: int) -> tuple[Training, int]:
    problems = make_problems(10)
    rows, columns = next(Trainer(hidden=hidden)._cut(METHODS[method], problems, 20))
    configs, problems = make_configs(method, 20)[columns], problems[rows]
    recipe = Schedule(MLP(hidden), HarmonicMean(), FixedLength(), epochs, 5, "cpu")
    replicas = len(problems) * len(configs)
    return Training(recipe, METHODS[method], problems, configs), replicas


def shares(method: str, hidden: int) -> dict[str, float]:
    training, _ = make_training(method, hidden, 3)
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        training.run()
    total, found = 0.0, dict.fromkeys(KINDS, 0.0)
    for event in recorded.key_averages():
        total += event.self_cpu_time_total
        for kind, names in KINDS.items():
            if event.key in names:
                found[kind] += event.self_cpu_time_total
    return {kind: time_ / total for kind, time_ in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--widths", type=int, nargs="+", default=[10, 100, 500])
    args = parser.parse_args()
    torch.set_num_threads(1)
    name_in_profile(MLP, "apply", "network")
    name_in_profile(StackedAdam, "step", "Adam")
    peak = matrix_peak()
    problem = make_problems(1)[0]
    sizes = len(problem.train), int(problem.train.reviewed.sum())
    print(f"matrix peak on one thread: {peak:.0f} GFLOP/s\n")
    print(
        "| method | width | stack | MFLOP | ms | GFLOP/s | of peak | "
        + " | ".join(KINDS)
        + " | rest |"
    )
    print("|---" * (8 + len(KINDS)) + "|")
    for hidden in args.widths:
        for method in METHODS:
            epochs = 2 if hidden == 500 else 6
            make_training(method, hidden, 1)[0].run()
            training, replicas = make_training(method, hidden, epochs)
            start = time.process_time()
            training.run()
            seconds = (time.process_time() - start) / replicas / epochs
            work = flops(method, hidden, 1, *sizes)
            part = shares(method, hidden)
            cells = [f"{v:.0%}" for v in part.values()] + [f"{1 - sum(part.values()):.0%}"]
            rate = work / seconds / 1e9
            print(
                f"| {method} | {hidden} | {replicas} | {work / 1e6:.0f} | {seconds * 1e3:.2f} | "
                f"{rate:.0f} | {rate / peak:.0%} | " + " | ".join(cells) + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
