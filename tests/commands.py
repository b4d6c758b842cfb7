"""Run a command as a user would, and train quickly."""

from functools import partial

from alignset.cli import main
from alignset.fitting.held_out import Settings


def run(capsys, *argv):
    """Return the exit code, and what was printed on standard output and error."""
    code = main([str(word) for word in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def train_quickly(monkeypatch):
    """Train small networks for a few epochs; the command line always trains as it should."""
    quick = partial(Settings, hidden=4, max_epochs=3, n_boot=50)
    monkeypatch.setattr("alignset.cli.fit.Settings", quick)
