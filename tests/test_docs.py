"""What the README shows runs as it is written."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.slow
def test_the_readme_example_runs_and_finds_the_noisier_group():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 1
    names: dict = {}
    exec(compile(blocks[0], str(README), "exec"), names)
    rates = names["clf"].noise_rates_
    assert rates[1] > rates[0]


def test_the_readme_has_no_placeholder():
    text = README.read_text(encoding="utf-8")
    assert not re.search(r"\b(TODO|MEASURED|DEMO_TABLE|TBD)\b", text)


def test_every_file_the_readme_links_to_is_there():
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", README.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (README.parent / target).exists(), target
