"""Small made-up problems that the tests of methods and engine train on."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import torch

from alignset.labels import UNREVIEWED
from alignset.rows import Part, Problem

torch.set_num_threads(1)  # two threads each on a shared core are far slower than one


def make_problem(
    n=100,
    *,
    seed=0,
    n_features=4,
    n_classes=2,
    n_groups=2,
    n_validation=36,
    reviewed=0.3,
    noise=0.3,
):
    """A problem whose labels follow x, whose every group x class cell is filled everywhere."""
    rng = np.random.default_rng(1000 + seed)
    centres = np.random.default_rng(7).normal(size=(n_classes, n_features))

    def part(size, share):
        group = np.arange(size) % n_groups
        y = (np.arange(size) // n_groups) % n_classes
        X = (centres[y] + rng.normal(size=(size, n_features))).astype(np.float32)
        wrong = rng.random(size) < noise
        y_seen = np.where(wrong, (y + rng.integers(1, n_classes, size)) % n_classes, y)
        looked = np.arange(size) < round(share * size)
        order = rng.permutation(size)
        return Part(
            X[order],
            y_seen[order],
            np.where(looked, y, UNREVIEWED)[order],
            group[order],
        ), y[order]

    train, truth = part(n, reviewed)
    validation, _ = part(n_validation, 1.0)
    return Problem(train, validation, None, n_classes, n_groups, seed, truth=truth)


def noise_free(problem):
    """The same problem with every label right: observed, reviewed and in truth."""
    train = replace(problem.train, y_seen=problem.truth, y_true=problem.truth)
    return replace(problem, train=train)


def without_review(problem):
    """The same problem where nobody looked at a training row."""
    nobody = np.full_like(problem.train.y_true, UNREVIEWED)
    return replace(problem, train=replace(problem.train, y_true=nobody))


def fingerprint(problem):
    """Hash of every array of a problem."""
    digest = hashlib.sha256()
    for part in (problem.train, problem.validation):
        for array in (part.X, part.y_seen, part.y_true, part.group):
            digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(problem.truth.tobytes())
    return digest.hexdigest()
