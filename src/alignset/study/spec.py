"""An experiment: a grid of problems and methods, read from a TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from alignset.study.methods import describe_space
from alignset.study.protocol import (
    Protocol,
    read_config,
    read_noise,
    read_protocol,
    read_review,
)
from alignset.study.section import Section, is_number, read_toml
from alignset.study.spaces import EVERY_METHOD, Ranges, ranges_of, read_spaces

QUICK_SEEDS, QUICK_CONFIGS = 2, 4
NOTHING_VARIED = "none"


@dataclass(frozen=True)
class Setting:
    """One place on the horizontal axis, and what is different there."""

    x: float
    methods: tuple[str, ...]
    noise: Mapping[str, Any]
    review: Mapping[str, Any]
    config: Mapping[str, float]


@dataclass(frozen=True)
class Experiment:
    r"""A grid: data sets x settings x methods x seeds, under one protocol.

    Parameters
    ----------
    name, title : str
        Name in the store, and for people.
    datasets, methods : tuple of str
        Names the protocol knows.
    seeds, configs : int
        Replications, and configs tried in each.
    x_name : str
        Name of the horizontal axis.
    settings : tuple of Setting
    noise, review, config : mapping
        What holds at every setting.
    protocol : Protocol
    spaces : mapping of str to mapping
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

    name: str
    title: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: int
    configs: int
    x_name: str
    settings: tuple[Setting, ...]
    noise: Mapping[str, Any]
    review: Mapping[str, Any]
    config: Mapping[str, float]
    protocol: Protocol
    spaces: Mapping[str, Mapping[str, Ranges]]
    file: Path

    def quick(self) -> Experiment:
        """Return the same with 2 seeds, 4 configs and at most 3 settings: first, middle, last.

        Settings that differ in the method are all kept.
        """
        n = len(self.settings)
        chosen = range(n) if self.settings[0].methods else sorted({0, n // 2, n - 1})
        return replace(
            self,
            seeds=min(self.seeds, QUICK_SEEDS),
            configs=min(self.configs, QUICK_CONFIGS),
            settings=tuple(self.settings[i] for i in chosen),
        )

    def ranges(self, dataset: str, method: str) -> Ranges:
        """Where random search looks for a method on a data set."""
        own = ranges_of(self.spaces.get(dataset, {}), method)
        return own or describe_space(self.protocol.method(method)["method"]["class"])


def load_experiments(
    path: str | PathLike[str], *, protocol: str | None = None
) -> tuple[Experiment, ...]:
    """Read an experiment, or a file whose ``[[specs]]`` name several.

    Parameters
    ----------
    path : path
    protocol : str, optional
        Use this protocol of the file's protocol file instead of the one it names. In a file
        of several, keep those alone that ask for it.

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
    found = []
    for index, entry in enumerate(content.pop("specs")):
        table = Section(entry, file, f"specs {index + 1}")
        name, asked = table.text("file"), table.text("protocol", "")
        table.close()
        if protocol in (None, asked):
            found.append(load_experiment(file.parent / name, protocol=asked or None))
    Section(content, file).close()
    if not found:
        raise ValueError(f"{file} has no spec of protocol {protocol!r}.")
    return tuple(found)


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
    top = Section(read_toml(file), file)
    rules_file, _, rules_name = top.text("protocol").partition("#")
    rules = read_protocol(file.parent / rules_file, protocol or rules_name)
    datasets = top.texts("datasets")
    x_name, settings = _read_vary(top)
    methods = () if any(s.methods for s in settings) else top.texts("methods")
    experiment = Experiment(
        name=top.text("name"),
        title=top.text("title", file.stem),
        datasets=datasets,
        methods=methods,
        seeds=top.whole("seeds", 10),
        configs=top.whole("configs", 20),
        x_name=x_name,
        settings=settings,
        noise=read_noise(top.section("noise")),
        review=read_review(top.section("review")),
        config=read_config(top.section("config")),
        protocol=rules,
        spaces=_read_spaces(top, rules.name, datasets),
        file=file,
    )
    top.close()
    _check(experiment)
    return experiment


def _read_spaces(
    top: Section, protocol: str, datasets: tuple[str, ...]
) -> dict[str, dict[str, Ranges]]:
    reference = top.text("space", "")
    if not reference:
        return {}
    name, _, section = reference.partition("#")
    file = top.file.parent / name
    return {dataset: read_spaces(file, protocol, section or dataset) for dataset in datasets}


def _read_vary(top: Section) -> tuple[str, tuple[Setting, ...]]:
    table = top.section("vary")
    changes = {k: v for k, v in table.values.items() if k not in ("name", "x")}
    if not changes:
        table.close()
        return NOTHING_VARIED, (Setting(0.0, (), {}, {}, {}),)
    for key, values in changes.items():
        if not isinstance(values, list) or not values:
            raise table.refuse(key, "a list with one value per setting")
    first = next(iter(changes))
    lengths = {key: len(values) for key, values in changes.items()}
    x = table.any("x", changes[first])
    if not isinstance(x, list) or not all(is_number(v) for v in x) or len(set(x)) != len(x):
        raise ValueError(f"{table.where('x')} must be different numbers, one per setting; got {x}.")
    if len({len(x), *lengths.values()}) > 1:
        raise ValueError(f"{table.where('x')} has {len(x)} values, the varied keys {lengths}.")
    name = table.text("name", first)
    settings = (_read_setting(table, float(x[i]), changes, i) for i in range(len(x)))
    return name, tuple(settings)


def _read_setting(table: Section, x: float, changes: Mapping[str, list[Any]], i: int) -> Setting:
    parts: dict[str, dict[str, Any]] = {"noise": {}, "review": {}, "config": {}}
    methods: tuple[str, ...] = ()
    for key, values in changes.items():
        part, _, name = key.partition(".")
        if key == "method":
            methods = (values[i],)
        elif part in parts and name:
            parts[part][name] = values[i]
        else:
            raise ValueError(
                f"{table.file}: [vary] has no key {key!r}; it takes name, x, method, "
                'and keys of noise, review and config such as "noise.rate".'
            )
    return Setting(
        x,
        methods,
        read_noise(Section(parts["noise"], table.file, f"vary noise {i + 1}")),
        read_review(Section(parts["review"], table.file, f"vary review {i + 1}")),
        read_config(Section(parts["config"], table.file, f"vary config {i + 1}")),
    )


def _check(experiment: Experiment) -> None:
    rules, file = experiment.protocol, experiment.file
    for name in experiment.datasets:
        if name not in rules.datasets:
            known = ", ".join(rules.datasets)
            raise ValueError(
                f"{file}: datasets has {name!r}, but [{rules.name}] of {rules.file} has {known}."
            )
    used = {*experiment.methods, *(m for s in experiment.settings for m in s.methods)}
    for name in sorted(used):
        try:
            method = rules.method(name)["method"]
        except ValueError as error:
            raise ValueError(f"{file}: methods: {error}") from None
        for dataset in experiment.datasets:
            _check_names(experiment, dataset, name, method)
    for space in experiment.spaces.values():
        strangers = set(space) - {EVERY_METHOD, *rules.methods, *used}
        if strangers:
            raise ValueError(f"{file}: space has ranges for {min(strangers)!r}, not a method.")


def _check_names(
    experiment: Experiment, dataset: str, name: str, method: Mapping[str, Any]
) -> None:
    """Refuse ranges and fixed values of hyperparameters the method does not have."""
    fixed = {**experiment.config, **experiment.settings[0].config}
    for key in (*experiment.ranges(dataset, name), *fixed):
        if key not in method["fields"]:
            known = ", ".join(sorted(method["fields"]))
            raise ValueError(
                f"{experiment.file}: {method['class']} ({name!r} on {dataset!r}) has no "
                f"hyperparameter {key!r}; it has {known}."
            )
