"""The scikit-learn facade: one estimator for every method."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from alignset.engine import Fits, Patience, Trainer, draw_configs
from alignset.engine.trainer import Progress
from alignset.labels import EncodedLabels, encode_groups, encode_labels
from alignset.methods import Alignment, Method, Standard
from alignset.split import Part, Problem, hold_out
from alignset.split.merge import merge_rows

ROWS_PER_BATCH = 2000
"""Large data sets are cut into batches of about this many rows; small ones into five."""

HELD_OUT_SHARE = 0.2
"""Without reviewed rows, this share validates on observed labels."""

MIN_ROWS_TO_HOLD_OUT = 40
"""Below this many rows nothing is held out, and training runs its full length."""


class NoReviewWarning(UserWarning):
    """No row was reviewed, so a method that needs reviewed rows was replaced by Standard."""


class NoDisagreementWarning(UserWarning):
    """Every reviewed label was right, so there is no error to learn from."""


class UnreviewedGroupWarning(UserWarning):
    """A group has no reviewed row; what is said of its labels is extrapolated."""


class UnobservedClassWarning(UserWarning):
    """A class occurs among the true labels but is never observed."""


class NoisyLabelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learn from noisy labels, some of which have been reviewed.

    Parameters
    ----------
    method : Method, optional
        How to learn; ``Alignment()``, the paper's two-stage method, by default.
    n_configs : int, default 20
        Size of the random search, trained as one stack. The first config is the method as it was
        passed; with 1 nothing is searched.
    space : mapping, optional
        Ranges to search, ``{"lr": LogUniform(1e-4, 1e-2), ...}``; the method's own by default.
    hidden : int, default 100
        Width of the two hidden layers.
    backbone : Backbone, optional
        Another network, for example ``Module(lambda d, k: nn.Linear(d, k))``.
    validation_share : float, default 0.5
        Share of the reviewed rows that choose the epoch and the config instead of training.
    max_epochs, patience : int, default 200 and 10
        Length of training and early stopping, per stage.
    standardize : bool, default True
        Scale features to mean 0 and standard deviation 1 (sparse ones to maximum 1).
    device : str, default "cpu"
    n_jobs : int, optional
        Cores used; by default all. It never changes the result.
    random_state : int, RandomState, Generator or None
        An integer makes refits bit-equal.
    verbose : bool, default False
        Show a progress bar.

    Attributes
    ----------
    classes_ : array of shape (K,)
    groups_ : array of shape (G,)
    noise_rates_ : dict
        Group -> estimated share of wrong observed labels.
    method_ : Method
        What was trained, with the chosen hyperparameters.
    search_results_ : dict
        "config", "score", "epochs" and "rank" of every config tried.
    n_features_in_ : int

    Notes
    -----
    The fit does not depend on the order of rows, and a row of weight 3 equals three copies.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2)); y_true = (X[:, 0] > 0).astype(float)
    >>> y = np.where(X[:, 1] > 1, 1 - y_true, y_true).astype(int)
    >>> y_true[30:] = np.nan  # only the first 30 rows were reviewed
    >>> clf = NoisyLabelClassifier(n_configs=2, max_epochs=30, random_state=0)
    >>> clf.fit(X, y, y_true=y_true).predict_proba(X).shape
    (300, 2)
    """

    def __init__(
        self,
        method: Method | None = None,
        *,
        n_configs: int = 20,
        space: Any = None,
        hidden: int = 100,
        backbone: Any = None,
        validation_share: float = 0.5,
        max_epochs: int = 200,
        patience: int = 10,
        standardize: bool = True,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.n_configs = n_configs
        self.space = space
        self.hidden = hidden
        self.backbone = backbone
        self.validation_share = validation_share
        self.max_epochs = max_epochs
        self.patience = patience
        self.standardize = standardize
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        y_true: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> NoisyLabelClassifier:
        """Train on observed labels and whatever was reviewed.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, D)
        y : array-like of shape (n,)
            Observed labels.
        y_true : array-like of shape (n,), optional
            True labels; missing (NaN, None, ``pd.NA``, masked) where a row was not reviewed.
        groups : array-like of shape (n,) or (n, m), optional
            Group of each row; several columns mean their intersections.
        sample_weight : array-like of shape (n,), optional
        """
        seed = _seed(self.random_state)
        X, labels, names, group, weight = self._validated(X, y, y_true, groups, sample_weight)
        codes = np.column_stack([labels.y_seen, labels.y_true, group])
        first, weight = merge_rows(X, codes, weight)
        weight *= len(weight) / weight.sum()
        self._learn_scale(X[first], weight)
        rows = Part(
            self._scaled(X[first]), labels.y_seen[first], labels.y_true[first], group[first], weight
        )
        self.classes_, self.groups_ = labels.classes, names
        method = self._method_for(rows)
        problem = _problem(rows, len(self.classes_), len(names), self.validation_share, seed)
        self._search(method, problem, seed)
        self.noise_rates_ = self._noise_rates(rows)
        return self

    def _validated(
        self, X: Any, y: Any, y_true: Any, groups: Any, sample_weight: Any
    ) -> tuple[Any, EncodedLabels, NDArray[Any], NDArray[np.int64], NDArray[np.float64]]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        n = X.shape[0]
        weight = _weights(sample_weight, n)
        labels = encode_labels(y, y_true)
        names, group = encode_groups(groups, n)
        keep = weight > 0
        if not keep.all():
            X, group, weight = X[keep], group[keep], weight[keep]
            labels = EncodedLabels(labels.classes, labels.y_seen[keep], labels.y_true[keep])
        if scipy.sparse.issparse(X):
            X = scipy.sparse.csr_matrix(X)
            X.sum_duplicates()
        _check_classes(labels)
        return X, labels, names, group, weight

    def _method_for(self, rows: Part) -> Method:
        """Return the method to train; Standard, with a warning, where it has nothing to go on."""
        method = self.method if self.method is not None else Alignment()
        if not isinstance(method, Method):
            raise ValueError(
                f"method must be a Method such as Alignment() or Standard(), got {method!r}."
            )
        if not method.uses_alignment:
            return method
        if not rows.reviewed.any():
            if method.needs_alignment:
                _warn(
                    f"no row was reviewed, so {type(method).__name__} cannot be trained; fitting "
                    "Standard instead. Pass y_true with the reviewed labels, NaN elsewhere.",
                    NoReviewWarning,
                )
                return Standard(lr=method.lr, l2=method.l2)
            return method
        self._warn_of_groups(rows)
        wrong = (rows.y_seen != rows.y_true)[rows.reviewed]
        if isinstance(method, Alignment) and not wrong.any():
            _warn(
                f"all {len(wrong)} reviewed labels were right, so there is no error to learn "
                "from; fitting Standard instead. Review more rows if errors are expected.",
                NoDisagreementWarning,
            )
            return Standard(lr=method.lr, l2=method.l2)
        return method

    def _warn_of_groups(self, rows: Part) -> None:
        seen = np.bincount(rows.group[rows.reviewed], minlength=len(self.groups_))
        for g in np.flatnonzero(seen == 0):
            _warn(
                f"group {self.groups_[g]!r} has no reviewed row; its noise rate and its model are "
                "extrapolated from the other groups. Review some of its rows.",
                UnreviewedGroupWarning,
            )

    def _search(self, method: Method, problem: Problem, seed: int) -> None:
        if self.n_configs < 1:
            raise ValueError(f"n_configs must be at least 1, got {self.n_configs}.")
        space = method.search_space() if self.space is None else self.space
        configs = [method.hyper_defaults(), *draw_configs(space, self.n_configs - 1, seed)]
        trainer = Trainer(
            hidden=self.hidden,
            backbone=self.backbone,
            max_epochs=self.max_epochs,
            n_batches=max(5, len(problem.train) // ROWS_PER_BATCH),
            stopping=Patience(self.patience),
            device=self.device,
            n_jobs=self.n_jobs,
        )
        with _progress(self.verbose) as progress:
            fits = trainer.fit(method, [problem], configs, progress)
        score = np.nan_to_num(fits.score[0].numpy(), nan=-np.inf)
        best = int(fits.best()[0])
        self.method_ = replace(method, **configs[best])
        self.search_results_ = {
            "config": configs,
            "score": score,
            "epochs": fits.epochs[0].numpy(),
            "rank": (-score).argsort(kind="stable").argsort(kind="stable") + 1,
        }
        self._fits: Fits = fits.only([best])

    def _noise_rates(self, rows: Part) -> dict[Any, float]:
        assert rows.weight is not None
        doubt = 1.0 - self._fits.confidence(rows.X, rows.y_seen, dtype=torch.float64)[0]
        total = np.bincount(rows.group, rows.weight * doubt, len(self.groups_))
        size = np.bincount(rows.group, rows.weight, len(self.groups_))
        with np.errstate(invalid="ignore"):
            rates = (total / size).tolist()
        return dict(zip(self.groups_.tolist(), rates, strict=True))

    def _learn_scale(self, X: Any, weight: NDArray[np.float64]) -> None:
        self._centre, self._spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if not self.standardize:
            return
        if scipy.sparse.issparse(X):
            spread = abs(X).max(axis=0).toarray().reshape(-1)
        else:
            self._centre = np.average(X, axis=0, weights=weight)
            spread = np.sqrt(np.average((X - self._centre) ** 2, axis=0, weights=weight))
        self._spread = np.where(spread > 0, spread, 1.0)

    def _scaled(self, X: Any) -> Any:
        if scipy.sparse.issparse(X):
            return (X @ scipy.sparse.diags_array(1.0 / self._spread)).tocsr().astype(np.float32)
        return (X - self._centre) / self._spread

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._scaled(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each true class, (n, K), in the order of ``classes_``."""
        rows = self._rows(X)
        return np.asarray(self._fits.probability(rows, dtype=torch.float64)[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable true class of each row."""
        prob = self.predict_proba(X)
        return np.asarray(self.classes_[prob.argmax(1)])

    def label_confidence(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Return P(the observed label ``y`` is right | x, y) for each row: beta-hat."""
        rows = self._rows(X)
        labels = encode_labels(y)
        known = np.isin(labels.classes, self.classes_)
        if len(labels.y_seen) != rows.shape[0]:
            raise ValueError(
                f"y has {len(labels.y_seen)} entries but X has {rows.shape[0]} rows; "
                "pass one per row."
            )
        if not known.all():
            raise ValueError(
                f"y holds {labels.classes[~known][0]!r}, which was never seen in fit; "
                f"known labels are {', '.join(map(repr, self.classes_.tolist()))}."
            )
        codes = np.searchsorted(self.classes_, labels.classes)[labels.y_seen]
        return np.asarray(self._fits.confidence(rows, codes, dtype=torch.float64)[0])

    def __sklearn_tags__(self) -> Tags:
        """Say that sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _problem(rows: Part, n_classes: int, n_groups: int, share: float, seed: int) -> Problem:
    """Hold out part of the reviewed rows, or of all rows where none was reviewed."""
    reviewed = rows.reviewed
    if reviewed.any():
        # right and wrong labels are halved apart, so that both sides see some of each
        cell = 2 * rows.group + (rows.y_seen == rows.y_true)
        held = hold_out(cell, reviewed, share=share, random_state=seed)
        true = rows.y_true
    elif len(rows) >= MIN_ROWS_TO_HOLD_OUT:
        everyone = np.ones(len(rows), dtype=bool)
        held = hold_out(rows.y_seen, everyone, share=HELD_OUT_SHARE, random_state=seed)
        true = np.where(held, rows.y_seen, rows.y_true)
    else:
        held, true = np.zeros(len(rows), dtype=bool), rows.y_true

    def part(keep: NDArray[np.bool_]) -> Part:
        assert rows.weight is not None
        return Part(
            rows.X[keep], rows.y_seen[keep], true[keep], rows.group[keep], rows.weight[keep]
        )

    return Problem(part(~held), part(held), None, n_classes, n_groups, seed)


def _check_classes(labels: EncodedLabels) -> None:
    present = np.unique(np.concatenate([labels.y_seen, labels.y_true[labels.reviewed]]))
    if len(present) < 2:
        only = labels.classes[present].tolist()
        raise ValueError(
            f"the labels hold one class only, {only}; a classifier needs at least two."
        )
    for code in np.setdiff1d(present, labels.y_seen):
        _warn(
            f"class {labels.classes[code]!r} occurs among the true labels but is never observed; "
            "it is learned from reviewed rows alone. Check that y and y_true use the same names.",
            UnobservedClassWarning,
        )


def _weights(sample_weight: Any, n: int) -> NDArray[np.float64]:
    if sample_weight is None:
        return np.ones(n)
    weight = np.array(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weight.shape} but X has {n} rows; pass one number per row."
        )
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise ValueError(
            "sample_weight must be finite, not negative and not all zero, got values from "
            f"{weight.min()} to {weight.max()}."
        )
    return weight


def _seed(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(np.random.default_rng(random_state).integers(2**31))


def _warn(message: str, category: type[Warning]) -> None:
    warnings.warn(message, category, stacklevel=4)


@contextmanager
def _progress(show: bool) -> Iterator[Progress | None]:
    if not show:
        yield None
        return
    from rich.progress import Progress as Bar

    with Bar() as bar:
        task = bar.add_task("training", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
