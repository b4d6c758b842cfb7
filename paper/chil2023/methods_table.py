"""Write docs/methods.md from a store of `alignset run paper/chil2023/methods.toml`, ours beside.

alignset run paper/chil2023/methods.toml --store results/methods.sqlite [--device cuda]
alignset run paper/beyond/every_method.toml --store results/beyond.sqlite [--device cuda]
python benchmarks/methods_speed.py --replicas 200 --epochs 2 --out results/speed.json
python paper/chil2023/methods_table.py results/{speed.json,methods.sqlite,beyond.sqlite}
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd

from alignset.study.store import Store

HERE = Path(__file__).parent
PAGE = HERE.parent.parent / "docs" / "methods.md"
RATES = {0.4: "20 / 40 %", 0.6: "40 / 60 %"}
SPEED_NAMES = {"proposed": "alignment", "transition": "parts", "csidn_posterior": None}

WHY = {
    "joint": "Not in the paper: P(y | x) and P(observed | y, x) by the likelihood of both labels; "
    "a doubtful row still says what it can ([docs/beyond](beyond/README.md)).",
    "joint_folds": "The same, cross-fitted: a reviewed row trains four of five averaged models.",
    "joint_ensemble": "The same, the five best configs of the search averaged.",
    "clean": "The bound: Standard with every label reviewed.",
    "proposed": "Learns who is mislabelled from A and weights rows by it; the noise here is a "
    "learnable function of x, which is exactly what it assumes.",
    "csidn": "A correctness model fitted on A as its confidence, and a transition per row: the "
    "same information as the proposed method, used to correct instead of to weight. Level with it, "
    "ahead at 40 / 60 %. The published CSIDN is far lower because the released correction does "
    "nothing.",
    "csidn_posterior": "The variant the paper describes, confidence = class posterior of a network "
    "trained on A: a posterior says how hard a row is, not whether its label is wrong.",
    "l2rw": "Rows whose gradient opposes that of A lose their weight, batch by batch: uses A well "
    "without a noise model.",
    "standard_plus": "Cross entropy with A weighted up. The honest yardstick: a noise model that "
    "does not beat it is not worth having.",
    "glc_per_group": "One transition matrix per group: the group part of the noise is caught, the "
    "dependence on x is not.",
    "glc": "A class-conditional matrix for noise that is not class-conditional: little to gain.",
    "forward": "As GLC, with the matrix counted on A.",
    "backward": "As forward; the inverse matrix adds variance near 50 % noise.",
    "mwnet": "Weighs rows by their loss; learnable noise gives wrong labels small losses, so the "
    "weights separate little.",
    "transition": "Parts of the hidden layer share matrices fitted on A: between class-conditional "
    "and row-wise, and its rank shows at 40 / 60 %.",
    "irbl": "The ratio of two classifiers, one of them trained on 190 rows: noisy weights.",
    "gjs": "A bounded loss against labels that are learnable as they are: it has no reason to "
    "doubt them. Not at chance: the published 0.70 comes from a loss that is not a divergence.",
    "js": "As GJS without the perturbed views.",
    "standard": "Learns the noise together with the signal.",
    "fair_gpl": "Assumes noise that depends on class and group only; near 50 % noise its weights "
    "1 / Delta are large and the peer term pulls towards constants.",
    "sln_filter": "Filters by small loss, which does not tell wrong labels from right ones when "
    "the noise is learnable; the kept rows are those the burn-in already fits.",
    "coteaching": "Small-loss selection by two networks: the same trouble as every filter here.",
    "elr": "Early learning is of the wrong labels too.",
    "confident": "cleanlab prunes rows that look unlikely under cross-validation; learnable noise "
    "looks likely.",
    "alignment_only": "190 reviewed rows alone: does not depend on the noise.",
}


INTRO = """# Every method on the same data

The published synthetic data set, 10 split seeds x 20 configs, width 100, 10 % reviewed, patience
10, selection by the paper's harmonic mean (HM of AUROC and AUEOC over the threshold). ± is the
standard deviation over splits. *HM rel.* uses the released code's AUEOC, as the published values
do; *published* is read off the paper's Figure 2a. *epoch* is the time per epoch as a multiple of
Standard's (CPU time, width 100). Every method gets the true labels on the reviewed rows
by the same rule. Made by the commands in `paper/chil2023/methods_table.py`; nothing was tuned by
hand. Two single-network methods cost more than twice Standard by their arithmetic: GJS runs two
views of every row, L2RW a gradient on A, a tangent and the step itself.
"""


def cell(frame: pd.DataFrame, method: str, x: float, metric: str) -> str:
    values = frame[(frame["method"] == method) & (frame["x"] == x)][metric]
    return f"{values.mean():.3f} ± {values.std(ddof=0):.3f}"


def published(method: str, x: float) -> str:
    table = pd.read_csv(HERE / "published.csv")
    row = table[
        (table["experiment"] == "noise_rate") & (table["method"] == method) & (table["x"] == x)
    ]
    return f"{row['mean'].item():.3f}" if len(row) else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("speed", type=Path)
    parser.add_argument("stores", type=Path, nargs="+")
    args = parser.parse_args()
    frame = pd.concat([Store(path).frame() for path in args.stores])
    frame = frame[frame["experiment"].isin(["methods", "beyond_every_method"])]
    speed = json.loads(args.speed.read_text())
    order = frame[frame["x"] == 0.6].groupby("method")["hm"].mean().sort_values(ascending=False)
    lines = [INTRO]
    for x, title in RATES.items():
        lines += [f"## {title} of the majority's / minority's labels wrong", ""]
        lines += ["| method | HM | AUROC | AUEOC | HM rel. | published | epoch |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for method in order.index:
            cells = [cell(frame, method, x, m) for m in ("hm", "auroc", "aueoc", "hm_released")]
            ratio = speed.get(SPEED_NAMES.get(method, method) or "", None)
            cells += [published(method, x), f"{ratio:.2f} x" if ratio else ""]
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
        lines.append("")
    lines += ["## Why each lands where it does", ""]
    lines += [f"- **{method}**: {WHY[method]}" for method in order.index]
    PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
