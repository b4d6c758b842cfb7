"""The scikit-learn facade: one estimator for every method."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse
import torch
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from alignset.engine import Fits, Patience, Trainer, draw_configs
from alignset.engine.trainer import Progress
from alignset.evaluate.ranked import odds_over_fpr
from alignset.evaluate.validation import HarmonicMean
from alignset.labels import (
    NoDisagreementWarning,
    NoReviewWarning,
    UnobservedClassWarning,
    UnreviewedGroupWarning,
    encode_groups,
    encode_labels,
)
from alignset.methods import Alignment, Method, Standard
from alignset.split import Part, Problem, hold_out
from alignset.split.merge import check_weights, merge_rows

ROWS_PER_BATCH = 2000  # of a large data set; a small one is cut into five batches
HELD_OUT_SHARE = 0.2  # validates on observed labels where no row was reviewed
MIN_ROWS_TO_HOLD_OUT = 40  # with fewer rows nothing is held out; training runs its full length


class NoisyLabelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learn from noisy labels, some of which have been reviewed.

    The fit does not depend on the order of rows, and a row of weight 3 equals three copies.

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
        Cores used, counted as joblib does, but by default all. It never changes the result.
    random_state : int, RandomState, Generator or None
        An integer makes refits bit-equal.
    verbose : bool, default False
        Show a progress bar.

    Attributes
    ----------
    classes_ : array of shape (K,)
    groups_ : array of shape (G,)
    noise_rates_ : dict
        Group -> estimated share of wrong observed labels: counted on reviewed rows; elsewhere the
        mean of 1 - ``label_confidence``, corrected by its error on reviewed rows held out.
    method_ : Method
        What was trained, with the chosen hyperparameters.
    search_results_ : dict
        "config", "score", "epochs" and "rank" of every config tried.
    n_features_in_ : int

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
        self, X: Any, y: Any, *, y_true: Any = None, groups: Any = None, sample_weight: Any = None
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
        rows = self._distinct(*self._validated(X, y, y_true, groups, sample_weight))
        self._warn_of_gaps(rows)
        method = self._method_for(rows)
        problem = self._problem(rows, seed)
        self._search(method, problem, seed)
        self.noise_rates_ = self._noise_rates(rows, problem.validation)
        return self

    def _validated(
        self, X: Any, y: Any, y_true: Any, groups: Any, sample_weight: Any
    ) -> tuple[Any, NDArray[np.int64], NDArray[np.float64]]:
        """Return X, (observed, true, group) codes and weights of the rows that have weight."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        n = X.shape[0]
        weight = check_weights(sample_weight, n)
        labels = encode_labels(y, y_true)
        names, group = encode_groups(groups, n)
        codes = np.column_stack([labels.y_seen, labels.y_true, group])
        if not weight.all():
            X, codes, weight = X[weight > 0], codes[weight > 0], weight[weight > 0]
        if scipy.sparse.issparse(X):
            X = scipy.sparse.csr_matrix(X, copy=not X.has_canonical_format)
            X.sum_duplicates()
        used, codes[:, 2] = np.unique(codes[:, 2], return_inverse=True)
        self.classes_, self.groups_ = labels.classes, names[used]
        return X, codes, weight

    def _distinct(self, X: Any, codes: NDArray[np.int64], weight: NDArray[np.float64]) -> Part:
        """Merge equal rows, in an order that no longer depends on how they came, and scale."""
        first, weight = merge_rows(X, codes, weight)
        weight *= len(weight) / weight.sum()
        self._learn_scale(X, first, weight)
        y_seen, y_true, group = codes[first].T
        return Part(self._trained_rows(X, first), y_seen, y_true, group, weight)

    def _method_for(self, rows: Part) -> Method:
        """Return the method to train; Standard, with a warning, where it has nothing to go on."""
        method = self.method if self.method is not None else Alignment()
        if not isinstance(method, Method):
            raise ValueError(
                f"method must be a Method such as Alignment() or Standard(), got {method!r}."
            )
        wrong = (rows.y_seen != rows.y_true)[rows.reviewed]
        if method.needs_alignment and not rows.reviewed.any():
            _warn(
                f"no row was reviewed, so {type(method).__name__} cannot be trained; fitting "
                "Standard instead. Pass y_true with the reviewed labels, NaN elsewhere.",
                NoReviewWarning,
            )
        elif isinstance(method, Alignment) and not wrong.any():
            _warn(
                "every reviewed label was right, so there is no error to learn from; fitting "
                "Standard instead. Review more rows if errors are expected.",
                NoDisagreementWarning,
            )
        else:
            return method
        return Standard(lr=method.lr, l2=method.l2)

    def _warn_of_gaps(self, rows: Part) -> None:
        """Warn of classes nobody observed and groups nobody reviewed."""
        present = np.unique(np.concatenate([rows.y_seen, rows.y_true[rows.reviewed]]))
        if len(present) < 2:
            raise ValueError(
                f"the labels hold one class only, {self.classes_[present].tolist()}; "
                "a classifier needs at least two."
            )
        for value in self.classes_[np.setdiff1d(present, rows.y_seen)].tolist():
            _warn(
                f"class {value!r} occurs among the true labels but is never observed; it is "
                "learned from reviewed rows alone. Check that y and y_true use the same names.",
                UnobservedClassWarning,
            )
        unseen = np.setdiff1d(rows.group, rows.group[rows.reviewed])
        for value in self.groups_[unseen].tolist() if rows.reviewed.any() else ():
            _warn(
                f"group {value!r} has no reviewed row; its noise rate and its model are "
                "extrapolated from the other groups. Review some of its rows.",
                UnreviewedGroupWarning,
            )

    def _problem(self, rows: Part, seed: int) -> Problem:
        """Hold out part of the reviewed rows, or of all rows where none was reviewed."""
        held = np.zeros(len(rows), dtype=bool)
        if rows.reviewed.any():
            # right and wrong labels are halved apart, so that both sides see some of each
            cell = 2 * rows.group + (rows.y_seen == rows.y_true)
            held = hold_out(cell, rows.reviewed, share=self.validation_share, random_state=seed)
        elif len(rows) >= MIN_ROWS_TO_HOLD_OUT:
            held = hold_out(rows.y_seen, ~held, share=HELD_OUT_SHARE, random_state=seed)
        y_true = np.where(held & ~rows.reviewed, rows.y_seen, rows.y_true)
        columns: tuple[Any, ...] = rows.X, rows.y_seen, y_true, rows.group, rows.weight
        train, validation = (Part(*(c[keep] for c in columns)) for keep in (~held, held))
        return Problem(train, validation, None, len(self.classes_), len(self.groups_), seed)

    def _search(self, method: Method, problem: Problem, seed: int) -> None:
        if self.n_configs < 1:
            raise ValueError(f"n_configs must be at least 1, got {self.n_configs}.")
        others = draw_configs(self._space(method), self.n_configs - 1, seed)
        configs = [method.hyper_defaults(), *others]
        trainer = Trainer(
            hidden=self.hidden,
            backbone=self.backbone,
            # by rank: over thresholds, EO is best where all probabilities are alike
            score=HarmonicMean(odds_over_fpr),
            max_epochs=self.max_epochs,
            n_batches=max(5, len(problem.train) // ROWS_PER_BATCH),
            stopping=Patience(self.patience),
            device=self.device,
            n_jobs=effective_n_jobs(-1 if self.n_jobs is None else self.n_jobs),
        )
        with _progress(self.verbose) as progress:
            fits = trainer.fit(method, [problem], configs, progress)
        score, best = fits.ranking()[0], int(fits.best()[0])
        self.method_ = replace(method, **configs[best])
        self.search_results_ = {
            "config": configs,
            "score": score,
            "epochs": fits.epochs[0].numpy(),
            "rank": (-score).argsort(kind="stable").argsort(kind="stable") + 1,
        }
        self._fits: Fits = fits.only([best])

    def _space(self, method: Method) -> Any:
        if self.space is None:
            return method.search_space()
        if isinstance(method, type(self.method or Alignment())):
            return self.space
        # Standard stands in, and has fewer hyperparameters than the method that was asked for
        return {k: v for k, v in self.space.items() if k in method.hyperparameters()}

    def _noise_rates(self, rows: Part, held: Part) -> dict[Any, float]:
        """Share known to be wrong where reviewed; elsewhere mean doubt, put right by ``held``."""
        known = self._group_means(rows, rows.y_seen != rows.y_true, rows.reviewed)
        doubt = self._group_means(rows, self._doubt(rows), ~rows.reviewed)
        if rows.reviewed.any():  # rows that did not train show by how much the doubt is off
            error = (held.y_seen != held.y_true) - self._doubt(held)
            doubt = (doubt + self._group_means(held, error, held.reviewed)).clip(0.0, 1.0)
        share = self._group_means(rows, rows.reviewed, where=True)
        rates = share * known + (1 - share) * doubt
        return dict(zip(self.groups_.tolist(), rates.tolist(), strict=True))

    def _doubt(self, part: Part) -> NDArray[np.float64]:
        confidence = self._fits.confidence(part.X, part.y_seen, dtype=torch.float64)[0]
        return np.asarray(1.0 - confidence)

    def _group_means(self, part: Part, values: Any, where: Any) -> NDArray[np.float64]:
        weight = where * (1.0 if part.weight is None else part.weight)
        size = np.bincount(part.group, weight, len(self.groups_))
        total = np.bincount(part.group, values * weight, len(self.groups_))
        return np.asarray(total / np.where(size > 0, size, 1.0))

    def _learn_scale(self, X: Any, rows: NDArray[np.int64], weight: NDArray[np.float64]) -> None:
        self._centre, self._spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if not self.standardize:
            return
        if scipy.sparse.issparse(X):
            spread = abs(X).max(axis=0).toarray().reshape(-1)
        else:  # block by block: a copy of a large table is what there may be no memory for
            blocks = [(rows[at], weight[at]) for at in _blocks(len(rows))]
            self._centre = sum(w @ X[r] for r, w in blocks) / weight.sum()
            square = sum(w @ (X[r] - self._centre) ** 2 for r, w in blocks)
            spread = np.sqrt(square / weight.sum())
        # a constant column's mean is off by rounding, which must not become its unit
        rounding = len(weight) * np.finfo(np.float64).eps * abs(self._centre)
        self._spread = np.where(spread > rounding, spread, 1.0)

    def _trained_rows(self, X: Any, rows: NDArray[np.int64]) -> Any:
        """Return ``X[rows]`` scaled, in the precision of training."""
        if scipy.sparse.issparse(X):
            return self._scaled(X[rows]).astype(np.float32)
        out = np.empty((len(rows), X.shape[1]), dtype=np.float32)
        for at in _blocks(len(rows)):
            out[at] = self._scaled(X[rows[at]])
        return out

    def _scaled(self, X: Any) -> Any:
        if scipy.sparse.issparse(X):
            return (X @ scipy.sparse.diags_array(1.0 / self._spread)).tocsr()
        return (X - self._centre) / self._spread

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._scaled(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each true class, (n, K), in the order of ``classes_``."""
        rows = self._rows(X)  # first: it says NotFittedError
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
        n, m = rows.shape[0], len(labels.y_seen)
        if m != n:
            raise ValueError(f"y has {m} entries but X has {n} rows; pass one per row.")
        if not known.all():
            raise ValueError(
                f"y holds {labels.classes[~known].tolist()[0]!r}, which was never seen in fit; "
                f"known labels are {', '.join(map(repr, self.classes_.tolist()))}."
            )
        codes = np.searchsorted(self.classes_, labels.classes)[labels.y_seen]
        return np.asarray(self._fits.confidence(rows, codes, dtype=torch.float64)[0])

    def save(self, path: Any) -> None:
        """Write a model folder that ``alignset.load_model`` reads; nothing in it is pickled."""
        check_is_fitted(self)
        # found when it is called: the workflow stands on this layer, not under it
        import_module("alignset.workflow.folder").save_estimator(self, path)

    def __sklearn_tags__(self) -> Tags:
        """Say that sparse rows are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _blocks(n: int, size: int = 1 << 16) -> list[slice]:
    return [slice(start, start + size) for start in range(0, n, size)]


def _seed(random_state: Any) -> int:
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(np.random.default_rng(random_state).integers(2**31))


def _warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called fit; the caller of this stands directly under fit."""
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
