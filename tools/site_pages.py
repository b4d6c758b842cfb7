"""Pages of the site that are made from the code: API, commands, names, decisions, page list.

Sphinx calls `connect`; `python tools/site_pages.py` writes the pages without building anything.
They are not kept in git.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import alignset
from alignset.cli import cli

DOCS = Path(__file__).parents[1] / "docs"
API = DOCS / "api"
MORE = {
    "alignset.estimator.scorers": ("reviewed_scorer",),
    "alignset.evaluate.noise_rate": ("ReviewDesign", "noise_rates"),
    "alignset.fitting.fit": ("fit_table",),
    "alignset.fitting.monitor": ("monitor",),
}
"""Names that the pages tell people to import from a module without an ``__all__``."""

COPIES = {
    "contributing": DOCS.parent / "CONTRIBUTING.md",
    "changelog": DOCS.parent / "CHANGELOG.md",
    "security": DOCS.parent / "SECURITY.md",
    "deviations": DOCS.parent / "paper" / "chil2023" / "DEVIATIONS.md",
}
"""Page of the site -> page of the repository that it is a copy of."""

NOT_SHOWN = "a protocol, an interface, a constant or a warning: shown where it is used"


@dataclass(frozen=True)
class PublicName:
    """A public name, where it is documented, and the object."""

    package: str
    name: str
    thing: Any

    @property
    def kind(self) -> str:
        """Say which directive of autodoc documents it."""
        if inspect.isclass(self.thing):
            return "exception" if issubclass(self.thing, BaseException) else "class"
        return "function" if callable(self.thing) else "data"

    @property
    def summary(self) -> str:
        """Return the first line of its docstring."""
        if self.kind == "data":
            return ""
        return (inspect.getdoc(self.thing) or "").split("\n")[0]

    @property
    def example(self) -> str:
        """Return the first statement of its example, or nothing."""
        text = "" if self.kind == "data" else (inspect.getdoc(self.thing) or "")
        lines = re.findall(r"^\s*>>> (.*)", text, re.MULTILINE)
        shown = [line for line in lines if re.search(rf"\b{re.escape(self.name)}\b", line)]
        wanted = [line for line in shown if not re.match(r"(from|import) ", line)]
        return (wanted or shown or lines or [""])[0]

    @property
    def has_example(self) -> bool:
        """Whether its docstring shows it at work."""
        return bool(self.example)


def public_names() -> list[PublicName]:
    """Return every public name once, the package itself first."""
    packages = [m.name for m in pkgutil.iter_modules(alignset.__path__, "alignset.") if m.ispkg]
    seen: set[int] = set()
    found = []
    for package in ("alignset", *packages, *MORE):
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", MORE.get(package, ())):
            thing = getattr(module, name)
            if name.startswith("__") or id(thing) in seen:
                continue
            seen.add(id(thing))
            found.append(PublicName(package, name, thing))
    return found


def by_page(names: list[PublicName]) -> dict[str, list[PublicName]]:
    """Return the names of every page; a module's go to the page of its package."""
    pages: dict[str, list[PublicName]] = {}
    for each in names:
        page = ".".join(each.package.split(".")[:2])
        pages.setdefault(page, []).append(each)
    return pages


def own_members(thing: type) -> list[str]:
    """Return the documented methods and properties of a class that alignset itself defines.

    scikit-learn adds others, whose text links into its own site.
    """
    found = {}
    for base in reversed(thing.__mro__):
        if base.__module__.startswith("alignset"):
            found.update({name: value for name, value in vars(base).items() if name[0] != "_"})
    kinds = (property, classmethod, staticmethod)
    return [
        name
        for name, value in found.items()
        if (inspect.isfunction(value) or isinstance(value, kinds)) and inspect.getdoc(value)
    ]


def api_page(package: str, names: list[PublicName]) -> str:
    """Return a page of one package: a table, then every name with its docstring."""
    about = (importlib.import_module(package).__doc__ or "").split("\n")[0]
    table = "\n".join(f"   ~{each.package}.{each.name}" for each in names)
    parts = [
        f"# {package}\n\n{about}\n",
        f"```{{eval-rst}}\n.. autosummary::\n   :nosignatures:\n\n{table}\n```\n",
    ]
    for each in names:
        shown = ", ".join(own_members(each.thing)) if each.kind == "class" else ""
        members = f"\n   :members: {shown}" if shown else ""
        directive = f".. auto{each.kind}:: {each.package}.{each.name}{members}"
        parts.append(f"## {each.name}\n\n```{{eval-rst}}\n{directive}\n```\n")
    return "\n".join(parts)


def index_page(pages: dict[str, list[PublicName]]) -> str:
    """Return the first page of the reference."""
    rows = []
    for package in pages:
        about = (importlib.import_module(package).__doc__ or "").split("\n")[0]
        about = about.replace("``", "`")
        rows.append(f"| [`{package}`]({package}.md) | {len(pages[package])} | {about} |")
    listed = "\n".join(["commands", "names", *pages])
    return (
        "# API reference\n\nEvery public name, with an example that the tests run. Names marked on "
        "[the list](names.md) without one are interfaces, warnings and constants. The command "
        "line is [a page of its own](commands.md).\n\n"
        "| package | names | what it is for |\n|---|---|---|\n" + "\n".join(rows) + "\n\n"
        "```{toctree}\n:hidden:\n\n" + listed + "\n```\n"
    )


def names_page(names: list[PublicName]) -> str:
    """Return the table of every public name with the first line of its example."""
    rows = []
    for each in names:
        code = each.example.replace("|", "\\|")
        shown = f"`` {code} ``" if code else NOT_SHOWN
        link = f"{{py:obj}}`{each.name} <{each.package}.{each.name}>`"
        rows.append(f"| {link} | {shown} |")
    n = sum(each.has_example for each in names)
    return (
        f"# Every public name and its example\n\n{len(names)} names, {n} with an example of their "
        "own; `tests/docs/test_site_pages.py` fails where one that can show itself does not. Only "
        "a line of each is here; the rest is behind the link.\n\n"
        "| name | from its example |\n|---|---|\n" + "\n".join(rows) + "\n"
    )


def commands_page() -> str:
    """Return what ``alignset COMMAND --help`` says, for every command."""
    context = click.Context(cli, info_name="alignset", terminal_width=72)
    parts = ["# Command line\n\nWhat `alignset COMMAND --help` prints.\n"]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        parts.append(_help(command, click.Context(command, info_name=name, parent=context)))
        if isinstance(command, click.Group):
            inner = click.Context(command, info_name=name, parent=context, terminal_width=72)
            for below in command.list_commands(inner):
                one = command.get_command(inner, below)
                assert one is not None
                parts.append(_help(one, click.Context(one, info_name=below, parent=inner), "###"))
    return "\n".join(parts)


def _help(command: click.Command, context: click.Context, level: str = "##") -> str:
    context.terminal_width = context.max_content_width = 72
    return f"{level} {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"


def decisions_page() -> str:
    """Return the list of decisions, by their titles."""
    rows = []
    for path in sorted((DOCS / "decisions").glob("0*.md")):
        title = path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")
        rows.append((path.stem, title))
    listed = "\n".join(stem for stem, _ in rows)
    return (
        "# Decisions\n\nWhy things are as they are: context, choice, what was rejected. One page "
        "each, oldest first; a later one may overturn an earlier one, and says so.\n\n"
        "```{toctree}\n:maxdepth: 1\n\n" + listed + "\n```\n"
    )


def copied_page(source: Path) -> str:
    """Return a page of the repository as one of the site: its links start from docs/ instead."""

    def turn(found: re.Match[str]) -> str:
        target, place = found.groups()
        if target.startswith(("http", "#")):
            return found[0]
        path = (source.parent / target).resolve()
        if path == DOCS / "decisions":
            path = path / "index.md"
        there = os.path.relpath(path, DOCS)
        return f"]({there}{place or ''})"

    text = source.read_text(encoding="utf-8")
    return re.sub(r"\]\(([^)#\s]+)(#[^)]*)?\)", turn, text)


def turn_out_links(text: str, page: Path) -> str:
    """Point links of a page under docs/ to the copies of pages outside of it."""
    for name, source in COPIES.items():
        out, here = (os.path.relpath(p, page.parent) for p in (source, DOCS / f"{name}.md"))
        text = text.replace(f"]({out}", f"]({here}")
    return text


def write_pages() -> list[Path]:
    """Write every page that has changed, so that Sphinx reads only those again."""
    names = public_names()
    pages = by_page(names)
    made = {API / f"{page}.md": api_page(page, some) for page, some in pages.items()}
    made[API / "index.md"] = index_page(pages)
    made[API / "names.md"] = names_page(names)
    made[API / "commands.md"] = commands_page()
    made[DOCS / "decisions" / "index.md"] = decisions_page()
    made |= {DOCS / f"{name}.md": copied_page(source) for name, source in COPIES.items()}
    for path, text in made.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    return list(made)


def reset_figures(_config: Any, _name: str) -> None:
    """Give every example the site's figure style, on white in light and dark pages alike."""
    import matplotlib as mpl

    mpl.rcParams.update(
        {
            "figure.figsize": (6.4, 3.8),
            "figure.constrained_layout.use": True,
            "savefig.facecolor": "white",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "font.size": 10,
            "axes.titlesize": 11,
        }
    )


ROLE = re.compile(r":(func|meth|class|attr):`~?(\w+)`")


def full_references(text: str, owner: str, homes: dict[str, str]) -> str:
    """Give short references of a docstring the full name that a site needs.

    A bar is a bar: the docstrings write sizes and absolute values as |A|.
    """

    def full(found: re.Match[str]) -> str:
        role, name = found.groups()
        if role in ("meth", "attr"):
            return f":{role}:`~{owner}.{name}`"
        return f":{role}:`~{homes[name]}`" if name in homes else f"``{name}``"

    return ROLE.sub(full, re.sub(r"(?<!\\)\|", r"\\|", text))


def connect(app: Any) -> None:
    """Write the pages when Sphinx starts, before it looks for files; mend docstrings for it."""
    homes = {each.name: f"{each.package}.{each.name}" for each in public_names()}
    code = re.compile(r"\s*(>>>|\.\.\. )|.*``.*\|")

    def mend(_app: Any, what: str, name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
        owner = name if what == "class" else name.rpartition(".")[0]
        lines[:] = [
            line if code.match(line) else full_references(line, owner, homes) for line in lines
        ]

    def turn(_app: Any, docname: str, content: list[str]) -> None:
        content[0] = turn_out_links(content[0], DOCS / f"{docname}.md")

    app.connect("source-read", turn)
    app.connect("builder-inited", lambda _: write_pages(), priority=10)
    app.connect("autodoc-process-docstring", mend, priority=900)


if __name__ == "__main__":
    shutil.rmtree(API, ignore_errors=True)
    for written in write_pages():
        click.echo(written)
