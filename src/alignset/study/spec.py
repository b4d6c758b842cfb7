"""An experiment: a grid of problems and methods, read from a TOML file."""

from __future__ import annotations

from collections.abc import Collection
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from alignset.methods.space import accepts, check_space, refusal
from alignset.study.methods import build_range, describe_space, method_classes
from alignset.study.protocol import Protocol, read_protocol
from alignset.study.recipe import NoiseSpec, RangeSpec, ReviewSpec, Spec, Whole
from alignset.study.toml import as_table, convert, read_toml, show

QUICK_SEEDS, QUICK_CONFIGS = 2, 4
EVERY_METHOD = "all"

Names = Annotated[
    tuple[str, ...], Meta(min_length=1, description="a list of different strings, at least one")
]
Values = Annotated[list[Any], Meta(min_length=1, description="a list with one value per setting")]
Range = Annotated[
    RangeSpec, Meta(description="[low, high], {uniform = [low, high]} or {choice = [...]}")
]
Ranges = dict[str, RangeSpec]
"""Hyperparameter -> where to look."""


class Conditions(Spec, frozen=True, kw_only=True):
    """What may differ from setting to setting, or be the same for all of them."""

    noise: NoiseSpec = NoiseSpec()
    review: ReviewSpec = ReviewSpec()
    config: dict[str, float] = msgspec.field(default_factory=dict)


class Setting(Conditions, frozen=True, kw_only=True):
    """One position on the horizontal axis, and what is different there."""

    x: float = 0.0
    methods: tuple[str, ...] = ()


class GridSettings(Conditions, frozen=True, kw_only=True):
    """What an experiment's file says about the grid itself."""

    name: str
    title: str = ""
    datasets: Names
    methods: Names = ()
    seeds: Whole = 10
    configs: Whole = 20


class GridFile(GridSettings, frozen=True, kw_only=True):
    """An experiment's whole file."""

    protocol: str
    space: str = ""
    vary: dict[str, Any] = msgspec.field(default_factory=dict)


class Experiment(GridSettings, frozen=True, kw_only=True):
    r"""A grid: data sets x settings x methods x seeds, under one protocol.

    Parameters
    ----------
    name, title : str
        Its name in the store, and its title for readers.
    datasets, methods : tuple of str
        Names that the protocol knows.
    seeds, configs : int
        Replications, and configs tried in each.
    x_name : str
        Name of the horizontal axis.
    settings : tuple of Setting
    noise, review, config : NoiseSpec, ReviewSpec, dict
        What is the same for every setting.
    protocol : Protocol
    spaces : dict of str to dict
        Data set -> method -> ranges.
    file : Path

    Examples
    --------
    >>> import tempfile
    >>> rules = '[mine.datasets.toy]\nsource = "synthetic"\nhidden = 10\n'
    >>> text = '''name = "noise"
    ... datasets = ["toy"]
    ... methods = ["standard", "alignment"]
    ... protocol = "rules.toml#mine"
    ... [noise]
    ... kind = "uniform"
    ... [vary]
    ... "noise.rate" = [0.1, 0.2, 0.3]
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rules.toml").write_text(rules)
    ...     _ = Path(folder, "noise.toml").write_text(text)
    ...     experiment = load_experiment(Path(folder, "noise.toml"))
    >>> [setting.x for setting in experiment.settings], experiment.seeds
    ([0.1, 0.2, 0.3], 10)
    """

    x_name: str
    settings: tuple[Setting, ...]
    protocol: Protocol
    spaces: dict[str, dict[str, Ranges]]
    file: Path

    @property
    def every_method(self) -> tuple[str, ...]:
        """Every method that is trained somewhere, in order."""
        return tuple(dict.fromkeys([*self.methods, *(m for s in self.settings for m in s.methods)]))

    def quick(self) -> Experiment:
        """Return it with 2 seeds, 4 configs and at most 3 settings: the first, middle and last.

        Settings that differ in the method are all kept.
        """
        n = len(self.settings)
        chosen = range(n) if self.settings[0].methods else sorted({0, n // 2, n - 1})
        settings = tuple(self.settings[i] for i in chosen)
        seeds, configs = min(self.seeds, QUICK_SEEDS), min(self.configs, QUICK_CONFIGS)
        return msgspec.structs.replace(self, seeds=seeds, configs=configs, settings=settings)

    def only(self, datasets: Collection[str]) -> Experiment:
        """Return it with those of its data sets that are named; there may be none."""
        kept = tuple(name for name in self.datasets if name in datasets)
        return msgspec.structs.replace(self, datasets=kept)

    def ranges(self, dataset: str, method: str) -> Ranges:
        """Where random search looks for a method on a data set; its own ranges override ``all``."""
        spaces = self.spaces.get(dataset, {})
        own = {**spaces.get(EVERY_METHOD, {}), **spaces.get(method, {})}
        return own or describe_space(self.protocol.method(method).method.class_)


class SpecEntry(Spec, frozen=True, kw_only=True):
    """One experiment in a file of several."""

    file: str
    protocol: str | None = None


class SpecList(Spec, frozen=True, kw_only=True):
    """A file of several experiments."""

    specs: tuple[SpecEntry, ...]


def load_experiments(
    path: str | PathLike[str], *, protocol: str | None = None
) -> tuple[Experiment, ...]:
    """Read an experiment, or a file whose ``[[specs]]`` name several.

    Parameters
    ----------
    path : path
    protocol : str, optional
        Use this protocol of the file's protocol file instead of the one it names. From a file of
        several experiments, keep only those that ask for it.

    Examples
    --------
    >>> load_experiments("nowhere.toml")
    Traceback (most recent call last):
        ...
    FileNotFoundError: nowhere.toml does not exist; pass the path of a TOML file.
    """
    file = Path(path)
    content = read_toml(file)
    if "specs" not in content:
        return (load_experiment(file, protocol=protocol),)
    found = tuple(
        load_experiment(file.parent / entry.file, protocol=entry.protocol)
        for entry in convert(content, SpecList, file).specs
        if protocol in (None, entry.protocol)
    )
    if not found:
        raise ValueError(f"{file} has no spec of protocol {protocol!r}.")
    return found


def load_experiment(path: str | PathLike[str], *, protocol: str | None = None) -> Experiment:
    """Read one experiment; :class:`Experiment` shows a whole file.

    Examples
    --------
    >>> load_experiment("nowhere.toml")
    Traceback (most recent call last):
        ...
    FileNotFoundError: nowhere.toml does not exist; pass the path of a TOML file.
    """
    file = Path(path)
    grid = convert(read_toml(file), GridFile, file)
    rules_file, _, rules_name = grid.protocol.partition("#")
    rules = read_protocol(file.parent / rules_file, protocol or rules_name)
    x_name, settings = _read_vary(grid.vary, file)
    space, _, section = grid.space.partition("#")
    given = {name: getattr(grid, name) for name in GridSettings.__struct_fields__}
    experiment = Experiment(
        **{**given, "title": grid.title or file.stem},
        x_name=x_name,
        settings=settings,
        protocol=rules,
        spaces={
            dataset: _read_space(file.parent / space, rules.name, section or dataset)
            for dataset in (grid.datasets if space else ())
        },
        file=file,
    )
    _check(experiment)
    return experiment


def _read_space(path: Path, protocol: str, section: str) -> dict[str, Ranges]:
    """Read ``[PROTOCOL.SECTION]``: method (or ``all``) -> hyperparameter -> range."""
    table, where = read_toml(path), str(path)
    for part in (protocol, section):
        if part not in table:
            raise ValueError(f"{where} has no table {part!r}; it has {', '.join(table)}.")
        table, where = as_table(table[part], path, part), f"[{part}] of {path}"
    place = (protocol, section)
    plain = convert(table, dict[str, dict[str, Any]], path, *place)
    for ranges in plain.values():
        ranges.update({k: {"log_uniform": v} for k, v in ranges.items() if isinstance(v, list)})
    found = convert(plain, dict[str, dict[str, Range]], path, *place)
    for method, name, values in ((m, k, v) for m, own in found.items() for k, v in own.items()):
        try:
            build_range(values)
        except ValueError as error:
            raise ValueError(f"{path}: [{'.'.join((*place, method))}] {name}: {error}") from None
    return found


def _read_vary(vary: dict[str, Any], file: Path) -> tuple[str, tuple[Setting, ...]]:
    changes = {k: v for k, v in vary.items() if k not in ("name", "x")}
    if not changes:
        convert(vary, Spec, file, "vary")
        return "none", (Setting(),)
    convert(changes, dict[str, Values], file, "vary")
    first = next(iter(changes))
    x = vary.get("x", changes[first])
    numbers = isinstance(x, list) and all(isinstance(v, int | float) for v in x)
    if not numbers or len(set(x)) != len(x) or not all(-1e300 < v < 1e300 for v in x):
        raise ValueError(
            f"{file}: [vary] x must be different numbers, one per setting; got {show(x)}."
        )
    lengths = {key: len(values) for key, values in changes.items()}
    if {*lengths.values()} != {len(x)}:
        raise ValueError(f"{file}: [vary] x has {len(x)} values, the varied keys {lengths}.")
    name = convert(vary.get("name", first), str, file, "vary", "name")
    return name, tuple(_read_setting(x[i], changes, i, file) for i in range(len(x)))


def _read_setting(x: float, changes: dict[str, list[Any]], i: int, file: Path) -> Setting:
    parts: dict[str, Any] = {}
    for key, values in changes.items():
        part, _, name = key.partition(".")
        if key == "method":
            parts["methods"] = (values[i],)
        elif part in Conditions.__struct_fields__ and name:
            parts.setdefault(part, {})[name] = values[i]
        else:
            raise ValueError(
                f"{file}: [vary] has no key {show(key)}; it takes name, x, method, "
                'and keys of noise, review and config such as "noise.rate".'
            )
    return convert({"x": x, **parts}, Setting, file, f"vary {i + 1}")


def _check(experiment: Experiment) -> None:
    """Refuse names that the protocol or a method does not know."""
    rules, file, used = experiment.protocol, experiment.file, experiment.every_method
    for key, names in (("datasets", experiment.datasets), ("methods", experiment.methods)):
        if len(set(names)) != len(names):
            raise ValueError(f"{file}: {key} must be different strings, got {show(list(names))}.")
    if bool(experiment.methods) == bool(experiment.settings[0].methods):
        raise ValueError(f"{file}: name methods in one place, methods or [vary] method.")
    for name in experiment.datasets:
        if name not in rules.datasets:
            known = ", ".join(rules.datasets)
            raise ValueError(
                f"{file}: datasets has {show(name)}, but [{rules.name}] of {rules.file} has "
                f"{known}."
            )
    for space in experiment.spaces.values():
        strangers = set(space) - {EVERY_METHOD, *rules.methods, *used}
        if strangers:
            raise ValueError(f"{file}: space has ranges for {min(strangers)!r}, not a method.")
    fixed = {**experiment.config, **experiment.settings[0].config}
    for name, dataset in ((name, dataset) for name in used for dataset in experiment.datasets):
        try:
            method = rules.method(name).method
        except ValueError as error:
            raise ValueError(f"{file}: methods: {error}") from None
        for key in (*experiment.ranges(dataset, name), *fixed):
            if key not in method.fields:
                raise ValueError(
                    f"{file}: {method.class_} ({name!r} on {dataset!r}) has no hyperparameter "
                    f"{key!r}; it has {', '.join(sorted(method.fields))}."
                )
        _check_values(experiment, dataset, name, method.class_)


def _check_values(experiment: Experiment, dataset: str, name: str, class_name: str) -> None:
    """Refuse values that a method does not accept, such as a negative learning rate."""
    limits = method_classes()[class_name].all_limits()
    ranges = experiment.ranges(dataset, name).items()
    try:
        check_space({key: build_range(values) for key, values in ranges}, limits)
        for config in (experiment.config, *(setting.config for setting in experiment.settings)):
            for key, value in config.items():
                if not accepts(limits.get(key, "(-inf, inf)"), value):
                    raise refusal(key, limits.get(key, "(-inf, inf)"), value)
    except ValueError as error:
        raise ValueError(f"{experiment.file}: {name!r} on {dataset!r}: {error}") from None
