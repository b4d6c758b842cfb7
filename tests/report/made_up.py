"""Made-up results of the shape a store returns."""

import numpy as np
import pandas as pd

RIVALS = ("standard", "sln_filter", "js", "transition", "csidn", "fair_gpl")
METHODS = ("proposed", *RIVALS, "clean")
STEPS = {
    "alignment_only": 0.70,
    "plus_ltheta_prime": 0.76,
    "plus_gamma_ltheta": 0.84,
    "plus_alpha2_lphi": 0.90,
    "proposed": 0.93,
}
DATASETS = ("synthetic", "mimic_arf", "mimic_shock", "adult", "compas")


def cells(values, *, experiment="noise_rate", dataset="synthetic", protocol="as-written", **more):
    """Make cells of given means: ``{method: {x: mean}}``; seeds share a part of their noise.

    ``more``: seeds, sd, and metrics, which all get the same value.
    """
    seeds, sd = more.get("seeds", 10), more.get("sd", 0.004)
    metrics = more.get("metrics", ("hm", "auroc", "aueoc", "hm_released", "aueoc_released"))
    rng = np.random.default_rng(0)
    shared = rng.normal(0, sd, seeds)
    rows = []
    for method, line in values.items():
        for x, mean in line.items():
            for seed in range(seeds):
                value = mean + shared[seed] + rng.normal(0, sd / 2)
                row = {"experiment": experiment, "protocol": protocol, "dataset": dataset}
                row |= {"method": method, "x_name": "x", "x": x, "seed": seed}
                row |= {"status": "done", "reason": ""}
                rows.append(row | dict.fromkeys(metrics, value))
    return pd.DataFrame(rows)


def _noise(experiment, xs, aueoc_level_until):
    hm = {m: {x: 0.92 if x < 0.4 else 0.80 for x in xs} for m in METHODS}
    hm["js"] = dict.fromkeys(xs, 0.72)
    hm["clean"] = dict.fromkeys(xs, 0.96)
    hm["transition"] = {x: 0.92 if x < 0.4 else 0.88 for x in xs}
    hm["proposed"] = {x: 0.94 if x < 0.4 else 0.93 if x < 0.8 else 0.86 for x in xs}
    aueoc = {m: {x: 0.94 if x <= aueoc_level_until else 0.85 for x in xs} for m in METHODS}
    for method in ("proposed", "transition"):
        if method == "proposed" or experiment == "noise_disparity":
            aueoc[method] = {x: 0.94 if x <= aueoc_level_until else 0.93 for x in xs}
    frame = cells(hm, experiment=experiment, metrics=("hm", "auroc", "hm_released"))
    other = cells(aueoc, experiment=experiment, metrics=("aueoc", "aueoc_released"))
    return frame.assign(aueoc=other["aueoc"], aueoc_released=other["aueoc_released"])


def ideal():
    """Results on which every claim of the paper holds."""
    parts = [
        _noise("noise_rate", (0.3, 0.35, 0.4, 0.6, 0.7, 0.8), 0.6),
        _noise("noise_disparity", (0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9), 0.4),
    ]
    sizes = {0.02: 0.84, 0.03: 0.86, 0.04: 0.91, 0.05: 0.915, 0.1: 0.92, 0.14: 0.93}
    shares = {0.0: 0.85, 0.2: 0.9, 0.5: 0.9, 0.8: 0.9, 1.0: 0.85}
    for dataset in DATASETS:
        size = {m: {x: y - 0.05 for x, y in sizes.items()} for m in METHODS}
        size["proposed"] = sizes
        size["transition"] = {x: y - (0.05 if x < 0.05 else 0) for x, y in sizes.items()}
        bias = {m: {x: y - 0.03 for x, y in shares.items()} for m in METHODS} | {"proposed": shares}
        parts.append(cells(size, experiment="alignment_size", dataset=dataset))
        parts.append(cells(bias, experiment="alignment_bias", dataset=dataset))
    steps = {method: {i + 1.0: y} for i, (method, y) in enumerate(STEPS.items())}
    parts.append(cells(steps, experiment="ablation"))
    flat = {0.01: 0.93, 0.1: 0.93, 1.0: 0.93, 10.0: 0.93, 100.0: 0.92}
    sharp = {0.01: 0.84, 0.1: 0.9, 1.0: 0.93, 10.0: 0.9, 100.0: 0.82}
    for name, line in (("alpha_1", flat), ("alpha_2", sharp), ("gamma", flat)):
        parts.append(cells({"proposed": line}, experiment=f"sensitivity_{name}"))
    return pd.concat(parts, ignore_index=True)


def shift(frame, experiment, method, by, where=lambda x: True, metric=("hm",)):
    """Move one method's values in one experiment, at some positions."""
    frame = frame.copy()
    rows = (frame["experiment"] == experiment) & (frame["method"] == method)
    rows &= frame["x"].map(where)
    assert rows.any()
    frame.loc[rows, list(metric)] += by
    return frame


def fail(frame, n=3, reason="theta became NaN in epoch 12"):
    """Turn the last cells into failures."""
    frame = frame.copy()
    last = frame.index[-n:]
    frame.loc[last, ["status", "reason"]] = ["failed", reason]
    frame.loc[last, [c for c in frame.columns if c.startswith(("au", "hm", "worst"))]] = np.nan
    return frame


def published_of(frame, metric="hm_released"):
    """Published values that agree with a frame."""
    keys = ["experiment", "dataset", "method", "x"]
    means = frame.groupby(keys)[metric].agg(mean="mean", sd="std").reset_index()
    return means.assign(metric=metric)


def small():
    """Two experiments, three methods, four seeds: enough for a page."""
    curve = {
        "proposed": {0.2: 0.93, 0.4: 0.92, 0.6: 0.9},
        "standard": {0.2: 0.9, 0.4: 0.8, 0.6: 0.7},
        "transition": {0.2: 0.91, 0.4: 0.88, 0.6: 0.86},
    }
    bars = {method: {i + 1.0: y} for i, (method, y) in enumerate(STEPS.items())}
    frames = [cells(curve, seeds=4), cells(bars, experiment="ablation", seeds=4)]
    return pd.concat(frames, ignore_index=True)
