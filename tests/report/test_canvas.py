import re

import matplotlib as mpl

from alignset.report.canvas import drawing, inline, one_axes, to_svg
from alignset.report.look import INK


def draw(label="a", colour=INK):
    with drawing():
        figure, axes = one_axes()
        axes.plot([1.23456789, 2.0], [1.0, 2.0], color=colour, marker="o")
        axes.set_xlabel(label)
        return to_svg(figure)


def test_the_same_figure_gives_the_same_bytes():
    assert draw() == draw()
    assert "date" not in draw().lower()


def test_the_users_style_is_neither_used_nor_changed():
    expected = draw()
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 30}):
        before = dict(mpl.rcParams)
        assert draw() == expected
        assert dict(mpl.rcParams) == before


def test_text_stays_text_and_a_dollar_is_a_dollar():
    assert ">costs $5 and $6<" in draw("costs $5 and $6")


def test_hostile_text_is_escaped():
    svg = draw("--><script>alert(1)</script>")
    assert "<script" not in svg
    assert "&lt;script&gt;" in svg


def test_coordinates_are_short():
    assert not re.search(r' (d|x|y)="[^"]*\d\.\d{3}', draw())


def test_an_inline_figure_has_ids_of_its_own_and_a_name():
    one, two = (inline(draw(), prefix=p, label='a "b" <c>') for p in ("p", "q"))
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (one, two)]
    assert ids[0]
    assert not ids[0] & ids[1]
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", one))
    assert used <= ids[0]
    assert 'role="img" aria-label="a &#34;b&#34; &lt;c&gt;"' in one
    assert one.startswith("<svg")
    assert "width=" not in one.split(">")[0]


def test_an_inline_figure_takes_the_colours_of_the_page():
    text = inline(draw(), prefix="p", label="")
    assert f"var(--ink, {INK})" in text
    assert f": {INK}" not in text
