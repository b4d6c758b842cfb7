"""Time per epoch of every method, as a ratio to Standard in the same run.

    python benchmarks/methods_speed.py [--replicas 200] [--epochs 4] [--out FILE.json]

The published synthetic data, width 100. CPU time, which other work disturbs less than
the wall clock. The time of an epoch is the difference between training
E + 1 and 1 epochs in every stage that stops early, over E and the number of such stages on all rows
(stages of fixed length cancel; an epoch on the reviewed rows alone comes on top).
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from loop import make_problems

from alignset.engine import FixedLength, Trainer, draw_configs
from alignset.methods.registry import METHODS

CONFIGS = 20


def seconds_per_epoch(method, problems, epochs: int, hidden: int) -> float:
    configs = draw_configs(method.search_space(), CONFIGS, random_state=0)
    seconds = []
    for length in (1, 1 + epochs):
        trainer = Trainer(hidden=hidden, max_epochs=length, stopping=FixedLength())
        start = time.process_time()
        trainer.fit(method, problems, configs)
        seconds.append(time.process_time() - start)
    stages = [s for s in method.stages() if s.epochs is None and s.rows == "all"]
    return (seconds[1] - seconds[0]) / epochs / max(1, len(stages))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicas", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=100)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    problems = make_problems(args.replicas // CONFIGS)
    standard = METHODS["standard"]()
    ratios = {}
    for name, make in METHODS.items():
        method = make()
        before = seconds_per_epoch(standard, problems, args.epochs, args.hidden)
        own = seconds_per_epoch(method, problems, args.epochs, args.hidden)
        after = seconds_per_epoch(standard, problems, args.epochs, args.hidden)
        ratios[name] = own / ((before + after) / 2)
        networks = len(method.networks(30, 2))
        print(f"{name:20} {networks} network(s)  {ratios[name]:5.2f} x Standard", flush=True)
    if args.out:
        args.out.write_text(json.dumps(ratios, indent=2) + "\n")


if __name__ == "__main__":
    main()
