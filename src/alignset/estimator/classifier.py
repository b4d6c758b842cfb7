"""The estimator: what it takes, what it learns and what it predicts."""

from __future__ import annotations

from contextlib import nullcontext
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from alignset.estimator.as_model import as_model
from alignset.estimator.decide import DecidingMixin
from alignset.estimator.html import ExplainingMixin
from alignset.estimator.inputs import (
    as_pandas,
    check_given,
    check_groups_are_few,
    check_index,
    check_no_gaps,
    check_not_reviewed,
    encode_features,
    learn_encoder,
    on_reviewed,
    repeated,
    seed_of,
    weigh_classes,
)
from alignset.estimator.learn import ToLearn, learn_blend, learn_method
from alignset.estimator.merged import merge
from alignset.estimator.named import dtypes_of, name_columns
from alignset.estimator.rates import noise_rates_of
from alignset.estimator.resolve import check_installed, check_time, resolve
from alignset.estimator.settings import check_settings
from alignset.estimator.soft import expand_soft, read_truth
from alignset.estimator.warn import warn_of_gaps
from alignset.labels import EncodedLabels, encode_groups, encode_labels
from alignset.learners import Blend
from alignset.model.folder import save_model
from alignset.model.recalibration import recalibrate
from alignset.progress import Progress, progress_bar
from alignset.rows import Part
from alignset.rows.divide import Division
from alignset.rows.features import check_sparse
from alignset.rows.merge import check_weights, copies_of
from alignset.rows.raw import AS_THEY_ARE, RawColumns


class NoisyLabelClassifier(
    ExplainingMixin,
    DecidingMixin,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Learn from noisy labels, some of which have been reviewed.

    The fit does not depend on the order of the rows, and a row of weight 3 counts as three copies:
    equal rows are merged before anything is weighted, held out or dealt into folds.

    Parameters
    ----------
    method : Blend, Method, Strategy, Learner or str, optional
        How to learn. By default a blend of linear models, trees and a network, on observed,
        reviewed and both labels, weighted by what they say of reviewed rows they did not see.
        ``Alignment()`` is the paper's method; a label strategy or a learner stands for the blend
        of only its candidates; a name is one that ``alignset methods`` prints.
    estimator : scikit-learn classifier, optional
        A learner of your own for the blend, beside linear models: LightGBM, XGBoost, a Pipeline.
        With label strategies as ``method`` it is the only learner, with a blend that names learners
        one more.
    n_configs : int, default 20
        Size of the random search for networks, trained as one stack. The first config is the
        method as it was passed; with 1 nothing is searched. A blend tries the first so many of
        its method's ``shortlist`` instead, unless ``space`` is given.
    space : mapping, optional
        Where to search, as in scikit-learn's ``RandomizedSearchCV``: for each hyperparameter a
        scipy.stats distribution or a list of values, such as
        ``{"lr": loguniform(1e-4, 1e-2), "l2": [0.0, 0.1]}``; by default the method's own.
    hidden : int, default 100
        Width of the two hidden layers.
    backbone : Backbone or callable, optional
        A network of your own, for example ``lambda d, k: nn.Linear(d, k)``.
    folds : int or None, default 5
        Deal the reviewed rows into this many folds (2 or more): each row validates once and
        trains in the other folds. Networks of all folds are averaged; the candidates of a blend
        are refitted to all rows. With fewer distinct reviewed rows than that, each is a fold; a
        fold that leaves a method nothing to learn from (no wrong label) is left out.
    validation_share : float, default 0.5
        With ``folds=None``, the share of the reviewed rows used once to choose the epoch and the
        config of a network, not to train. A blend always uses folds.
    ensemble : int, default 1
        Average this many configs, those with the best validation scores, instead of using one.
    class_weight : dict or "balanced", optional
        As in scikit-learn: how much rows of a class count, by the true label where it is known and
        by the observed one elsewhere. Probabilities are then those of the weighted rows.
    review_weights : "cells" or "classifier", optional
        If the reviewed rows are not a fair sample, weight each by 1 / P(reviewed), bounded:
        counted in each cell of group x observed label, or estimated from the features as well.
    max_epochs, patience : int, default 200 and 10
        For each stage, the most epochs to train, and how many without improvement stop it.
    time_budget : float, optional
        Seconds after which a blend fits no more candidates, about: those that are not done are left
        out, with a warning, and ``candidates_.left_out`` names them. Linear models of observed,
        reviewed and both labels are always fitted. Bits then depend on how fast the machine is.
    standardize : bool, default True
        Scale features to mean 0 and standard deviation 1 (sparse ones to maximum 1).
    device : str, default "cpu"
    n_jobs : int, optional
        Number of cores, counted as in joblib; all of them by default. The result never changes.
    random_state : int, RandomState, Generator or None
        With an integer, fitting again gives the same bits.
    verbose : bool, default False
        Show a progress bar.

    Attributes
    ----------
    classes_ : array of shape (K,)
    groups_ : array of shape (G,)
    noise_rates_ : dict
        Group -> share of wrong observed labels among its reviewed rows, weighted by 1 / P(reviewed)
        where given or estimated; NaN for a group without reviewed rows, and if rows were picked
        because their label was wrong. What the model says about the other rows,
        ``1 - label_confidence``, is not mixed in.
    candidates_ : Candidates or None
        Of a blend: labels, learner, weight, log loss and AUROC of every candidate on reviewed rows
        it did not see; ``.frame`` is a DataFrame, :meth:`explain` says it in two sentences, and
        ``.left_out`` names what was left out, for want of torch or of time.
    method_ : Method or Blend
        What was trained; a method with the hyperparameters of the best config.
    search_results_ : dict
        Of a method, "config", "score", "epochs" (means over folds) and "rank" of every config
        tried, and "averaged": whether it is part of the model.
    thresholds_ : ThresholdChoice or None
        What :meth:`choose_threshold` chose; by default the most probable class is predicted.
    recalibration_ : GroupCalibration or None
        Slope and intercepts for groups whose probabilities were off by more than chance on
        reviewed rows that the model had not seen; None if there are none.
    unseen_ : Unseen or None
        What a blend and its candidates said of rows they did not see, if it was asked to keep it.
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
        method: Any = None,
        *,
        estimator: Any = None,
        n_configs: int = 20,
        space: Any = None,
        hidden: int = 100,
        backbone: Any = None,
        validation_share: float = 0.5,
        folds: int | None = 5,
        ensemble: int = 1,
        class_weight: Any = None,
        review_weights: str | None = None,
        max_epochs: int = 200,
        patience: int = 10,
        time_budget: float | None = None,
        standardize: bool = True,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.estimator = estimator
        self.n_configs = n_configs
        self.space = space
        self.hidden = hidden
        self.backbone = backbone
        self.folds, self.validation_share = folds, validation_share
        self.ensemble = ensemble
        self.class_weight = class_weight
        self.review_weights = review_weights
        self.max_epochs, self.patience = max_epochs, patience
        self.time_budget = time_budget
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
        review_probability: Any = None,
        units: Any = None,
    ) -> NoisyLabelClassifier:
        """Train on observed labels and on the true labels of the reviewed rows.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n, D)
            A table may hold text, dates and gaps, which are encoded as ``alignset fit`` does.
        y : array-like of shape (n,)
            Observed labels.
        y_true : array-like of shape (n,) or (n, K), optional
            True labels; missing (NaN, None, ``pd.NA``, masked) where a row was not reviewed. Of
            uncertain ones, the probability of each class: sorted, or as a DataFrame's columns say.
        groups : array-like of shape (n,) or (n, m), optional
            Group of each row; with several columns, groups are their intersections.
        sample_weight : array-like of shape (n,), optional
        review_probability : array-like of shape (n,), optional
            P(reviewed) for each row, if the review was planned; replaces ``review_weights``.
            Only the values of reviewed rows are used.
        units : array-like of shape (n,), optional
            Whom each row belongs to; the rows of a person are never on two sides of a fold.
        """
        check_settings(self, review_probability)
        check_index(
            X, y=y, y_true=y_true, groups=groups, units=units, sample_weight=sample_weight,
            review_probability=review_probability,
        )  # fmt: skip
        new = copy(self)  # a fit that fails or is interrupted leaves this one as it was
        X = as_pandas(X)
        dtypes = dtypes_of(X)
        encoder, X, y = new._read(X, y, sample_weight)
        n = X.shape[0]
        (labels, soft), (names, group) = read_truth(y, y_true), encode_groups(groups, n)
        check_not_reviewed(labels)
        check_groups_are_few(names, n)
        weight = check_weights(sample_weight, n)
        matters = weigh_classes(self.class_weight, labels, weight)
        probability, copies = on_reviewed(review_probability, labels), copies_of(weight)
        unit = None if units is None else repeated(encode_groups(units, n, name="units")[1], copies)
        rows = Part(
            X, labels.y_seen, labels.y_true, group, weight, probability, unit,
            copies=copies, importance=matters,
        )  # fmt: skip
        rows = expand_soft(rows, soft)
        counts = rows.by_importance().weights
        counted = rows if counts.all() else rows.take(counts > 0)
        found = new._learn(counted, labels.classes, names, encoder, dtypes=dtypes)
        return self._become(found)

    def _become(self, fitted: NoisyLabelClassifier) -> NoisyLabelClassifier:
        """Take over everything a fitted copy has, in one step."""
        self.__dict__ = fitted.__dict__
        return self

    def _read(self, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
        """Return how to encode the features, if they need it, the features as numbers, and y."""
        check_given(X, y)
        encoder = learn_encoder(X, weight)
        if encoder is None:
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        else:
            validate_data(self, X, skip_check_array=True)
            X, y = encode_features(encoder, X), column_or_1d(y, warn=True)
            check_consistent_length(X, y)
        check_classification_targets(y)
        return encoder, X, y

    def fit_encoded(
        self,
        X: Any,
        labels: EncodedLabels,
        group: NDArray[np.int64],
        group_names: NDArray[Any],
        *,
        review_probability: NDArray[np.float64] | None = None,
        unit: NDArray[np.int64] | None = None,
        soft: NDArray[np.float64] | None = None,
        raw: RawColumns = AS_THEY_ARE,
        keep_unseen: bool = False,
        progress: Progress | None = None,
    ) -> NoisyLabelClassifier:
        """Train as :meth:`fit` does, on labels, groups and units that are already codes.

        ``soft`` (n, K) are probabilities of the true class of reviewed rows, where uncertain;
        ``raw`` says which columns of a table the features were made of. With ``keep_unseen`` a
        blend has in ``unseen_`` what was said of rows by models without them.
        """
        check_settings(self, review_probability)
        check_sparse(X)
        new = copy(self)
        X = validate_data(new, X, accept_sparse="csr", dtype=np.float64)
        probability = on_reviewed(review_probability, labels)
        unit = None if unit is None else repeated(unit)
        place = np.arange(X.shape[0]) if keep_unseen else None
        rows = Part(X, labels.y_seen, labels.y_true, group, None, probability, unit, place=place)
        rows = expand_soft(rows, soft)
        found = new._learn(rows, labels.classes, group_names, raw=raw, progress=progress)
        return self._become(found)

    def _learn(
        self,
        rows: Part,
        classes: Any,
        group_names: Any,
        encoder: Any = None,
        raw: RawColumns = AS_THEY_ARE,
        progress: Progress | None = None,
        dtypes: dict[str, str] | None = None,
    ) -> NoisyLabelClassifier:
        """Merge equal rows and learn; set the fitted attributes at the very end."""
        asked, seed = resolve(self.method, self.estimator), seed_of(self.random_state)
        check_installed(asked)
        check_time(self.time_budget, asked)
        merged = merge(rows, standardize=self.standardize)
        rows, groups = merged.rows, group_names[merged.groups]
        division = Division(self.folds, self.validation_share, self.review_weights)
        names = classes.tolist(), groups.tolist()
        raw = raw if encoder is None else encoder.raw
        given = ToLearn(rows.by_importance(), division, *names, seed, merged.origin, raw)
        warn_of_gaps(rows, given.classes, given.groups)
        bar = progress_bar(show=self.verbose) if progress is None else nullcontext(progress)
        with bar as told:
            if isinstance(asked, Blend):
                asked = name_columns(asked, dtypes, encoder, merged.scale)
                found = learn_blend(self, asked, given, told)
            else:
                found = learn_method(self, asked, given, told)
        rates = noise_rates_of(
            rows, division, given.groups, selective=found.selective, picked=found.picked
        )
        self.classes_, self.groups_, self.noise_rates_ = classes, groups, rates
        self.search_results_, self.method_ = found.search, found.method
        self.candidates_, self.thresholds_ = found.candidates, None
        self.recalibration_, self.unseen_ = found.recalibration, found.unseen
        self._scale, self._model, self._encoder = merged.scale, found.model, encoder
        return self

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        X = as_pandas(X)
        if self._encoder is not None:
            validate_data(self, X, skip_check_array=True, reset=False)
            return self._scale(encode_features(self._encoder, X))
        check_sparse(X)
        check_no_gaps(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self._scale(X)

    def predict_proba(self, X: Any, groups: Any = None) -> NDArray[np.float64]:
        """Return the probability of each true class, (n, K), in the order of ``classes_``.

        With ``groups``, as in fit, probabilities of groups in ``recalibration_`` are recalibrated.
        """
        check_index(X, groups=groups)
        rows = self._rows(X)  # first, because it raises NotFittedError
        found = np.asarray(self._model.probability(rows))
        return recalibrate(found, self.recalibration_, self.groups_, groups)

    def label_confidence(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Return P(the observed label ``y`` is right | x, y) for each row: beta-hat."""
        check_index(X, y=y)
        rows = self._rows(X)
        labels = encode_labels(y)
        known = np.isin(labels.classes, self.classes_)
        n, m = rows.shape[0], len(labels.y_seen)
        if m != n:
            raise ValueError(f"y has {m} entries but X has {n} rows; pass one per row.")
        if not known.all():
            raise ValueError(
                f"y holds {labels.classes[~known].tolist()[0]!r}, which was never seen in fit; the "
                f"known labels are {', '.join(map(repr, self.classes_.tolist()))}."
            )
        codes = np.searchsorted(self.classes_, labels.classes)[labels.y_seen]
        return np.asarray(self._model.confidence(rows, codes))

    def confidence_encoded(self, X: Any, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what :meth:`label_confidence` does, for codes of ``classes_``."""
        return np.asarray(self._model.confidence(self._rows(X), codes))

    def save(self, path: Any, *, overwrite: bool = False) -> None:
        """Write a model folder that ``alignset.load_model`` reads; nothing in it is pickled."""
        check_is_fitted(self)
        save_model(as_model(self), path, overwrite=overwrite, option="overwrite=True")

    def __sklearn_tags__(self) -> Tags:
        """Declare that sparse rows and gaps are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
