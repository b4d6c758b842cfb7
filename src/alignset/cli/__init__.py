"""The command line: ``alignset COMMAND``. A command is imported only when it is called."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click

from alignset.cli.visible import one_line, visible
from alignset.interrupts import note_interrupt, was_interrupted

COMMANDS = {
    "audit": ("alignset.cli.audit", "Find doubtful labels; check that enough rows are reviewed."),
    "cite": ("alignset.cli.cite", "Print BibTeX for methods, or for alignset."),
    "data": ("alignset.cli.data", "Get, find and check the data sets."),
    "disputes": ("alignset.cli.disputes", "Show how far reviewers agree; list rows to settle."),
    "join": ("alignset.cli.join", "Add a filled-in review sheet to the table."),
    "plan": ("alignset.cli.plan", "Work out how many rows to review in each group."),
    "export": ("alignset.cli.export", "Export a model folder to ONNX and check the result."),
    "fit": ("alignset.cli.fit", "Train a model on a table with some reviewed rows."),
    "monitor": ("alignset.cli.monitor", "Compare a later table with what a model was trained on."),
    "predict": ("alignset.cli.predict", "Predict the true label of each row of a table."),
    "review": ("alignset.cli.review", "Make the page on which a sheet is filled in."),
    "report": ("alignset.cli.report", "Present results or a model as one HTML file."),
    "run": ("alignset.cli.run", "Run the experiments in TOML files, or resume them."),
    "sample": ("alignset.cli.sample", "Draw a review sheet with known selection probabilities."),
    "status": ("alignset.cli.status", "Show which results a store has, and which are missing."),
    "threshold": ("alignset.cli.threshold", "Choose the threshold that a model decides by."),
    "methods": ("alignset.cli.methods", "List the methods and what they assume."),
}
"""Command name -> module that defines ``command``, and its one-line help."""


INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


FAULT, TRACEBACK = 70, "ALIGNSET_TRACEBACK"
"""Exit code after a fault of alignset itself, and the variable that shows its traceback."""


class LazyGroup(click.Group):
    """A click group that starts fast: it imports a command's module only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the name of every command."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="alignset")
def cli() -> None:
    """Learn from labels that are wrong in ways that depend on the person."""


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code; errors users can fix show no traceback."""
    try:
        result = cli.main(args=argv, prog_name="alignset", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except click.ClickException as error:
        text = io.StringIO()
        error.show(file=text)
        click.echo(visible(text.getvalue()), err=True, nl=False)
        return error.exit_code
    except (ValueError, OSError) as error:
        click.echo(f"error: {one_line(error)}", err=True)
        return 1
    except MemoryError:
        click.echo("error: there is not enough memory for this; use a smaller table.", err=True)
        return 1
    except Exception as error:
        # what was interrupted may fail in its own way, such as an import of torch
        if was_interrupted():
            click.echo("interrupted", err=True)
            return INTERRUPTED
        if os.environ.get(TRACEBACK):
            raise
        click.echo(f"error: {_fault(error)}", err=True)
        return FAULT
    return result if isinstance(result, int) else 0


def _fault(error: Exception) -> str:
    """Say where alignset failed on something that it should have refused."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "alignset" in Path(frame.filename).parts] or frames
    where = f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}"
    return (
        f"alignset failed where it should not: {one_line(repr(error))} in {where}. Set "
        f"{TRACEBACK}=1 to see more, and report it."
    )


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    note_interrupt(number)
    raise KeyboardInterrupt


def _not_raised(lost: sys.UnraisableHookArgs) -> None:
    if lost.exc_type is not KeyboardInterrupt:  # which is raised again
        sys.__unraisablehook__(lost)


def program() -> NoReturn:
    """Run the command line as a program of its own."""
    sys.unraisablehook = _not_raised
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    if code == INTERRUPTED:
        # everything is cleaned up; torch may still be starting threads, and would abort the process
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    program()
