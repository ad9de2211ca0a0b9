"""Bars and curves: what is drawn is what is said, and a name is only text."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import workbench as wb
from workbench.errors import InputError
from workbench.measure.questions import QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.systems.openclaw import SHIPPED
from workbench_plugins.pictures.drawing import Picture

SCRIPT = "<script>alert('&')</script>"


def parts(picture: Picture, tag: str) -> list[ElementTree.Element]:
    """The elements of the picture, which is well-formed SVG."""
    return list(ElementTree.fromstring(picture._repr_html_()).iter(tag))


def test_a_bar_is_as_long_as_its_number_and_an_interval_lies_around_its_end() -> None:
    shown = wb.bar_chart({"one": 2, SCRIPT: (4, 3, 6), "less": -1.0}, "hits")
    lengths = [float(bar.attrib["width"]) for bar in parts(shown, "rect")]
    assert [length / lengths[0] for length in lengths] == pytest.approx([1, 2, 0.5], abs=0.01)
    low, high = (float(parts(shown, "line")[1].attrib[end]) for end in ("x1", "x2"))
    zero = float(parts(shown, "rect")[0].attrib["x"])
    assert [(end - zero) / lengths[0] for end in (low, high)] == pytest.approx([1.5, 3], abs=0.01)
    assert repr(shown) == f"hits: one 2, {SCRIPT} 4 (3 to 6), less -1"
    assert SCRIPT in [text.text for text in parts(shown, "text")]


def test_the_points_of_a_curve_stand_where_their_numbers_say() -> None:
    shown = wb.line_chart({"up": [(0, 0), (1, 3), (2, 6)], "flat": [(0, 3), (2, 3)]}, "floor", "hits")
    flat, up = parts(shown, "circle")[:2], parts(shown, "circle")[2:]  # the lowest end comes first
    at = [[float(one.attrib[axis]) for axis in ("cx", "cy")] for one in (*up, *flat)]
    assert at[1] == pytest.approx([(at[0][0] + at[2][0]) / 2, (at[0][1] + at[2][1]) / 2])
    assert at[3][1] == pytest.approx(at[1][1])
    assert at[2][1] < at[0][1]
    assert "up: (0, 0), (1, 3), (2, 6)" in repr(shown)


@pytest.mark.parametrize("draw", [lambda: wb.bar_chart({}, ""), lambda: wb.line_chart({"none": []}, "", "")])
def test_nothing_to_draw_is_said(draw) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match="nothing to draw"):
        draw()


def test_each_score_is_in_the_bars_of_its_group_and_the_floor_stands_on_its_own_axis(
    sample: MemoryIndex, questions: QuestionSet
) -> None:
    found = wb.scores(wb.evaluate(questions, [SHIPPED], sample)[0])
    right, other, control = wb.score_figure(found, found).data[:3]
    assert [list(bars.x) for bars in (right, other, control)] == [
        list(found.target), list(found.other), list(found.control),
    ]  # fmt: skip
    drawn = wb.score_figure(found)
    assert [line.x0 for line in drawn.layout.shapes] == [found.floor]
    assert drawn.layout.xaxis.title.text == f"{SHIPPED.name}: {found.column}"
    with pytest.raises(InputError, match="no system"):
        wb.score_figure()
