"""The colours that stand together in a figure can be told apart, with colour-blind eyes too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from coloraide import Color

import workbench.views
from workbench.memory.index import MemoryIndex
from workbench.views.figures import style
from workbench_plugins.engines.presets import ENGINES, fuse
from workbench_plugins.engines.whose_fusion import EXAMPLE
from workbench_plugins.engines.widget import fusion_figure
from workbench_plugins.explore.microscope import dissect
from workbench_plugins.explore.microscope_widget import microscope_figure

APART = 10.0
"""The least CIEDE2000 distance of two colours; about 2 is what an eye can just tell side by side."""

PALETTE = {name: value for name, value in vars(style).items() if name.isupper() and str(value)[0] == "#"}


def figure(name: str, toy: MemoryIndex) -> go.Figure:
    """A figure with all that it can show."""
    if name == "fusion":
        return fusion_figure(fuse(ENGINES["weaviate-relative"].fusion, *EXAMPLE), 0.35, {"v1"})
    return microscope_figure(dissect("green tea in the morning", toy))


def colours(part: Any) -> Iterator[str]:
    """Every colour of a figure's traces that is no transparent one."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key in ("color", "fgcolor") and isinstance(value, str):
                yield value
            else:
                yield from colours(value)
    elif isinstance(part, list | tuple):
        for one in part:
            yield from colours(one)


def seen(colour: str, blindness: str | None) -> Color:
    """The colour as it is seen: Machado, Oliveira and Fernandes 2009, severity 1."""
    return Color(colour).filter(blindness, 1, method="machado") if blindness else Color(colour)


@pytest.mark.parametrize("name", ["fusion", "microscope"])
@pytest.mark.parametrize("blindness", [None, "protan", "deutan"])
def test_the_colours_of_a_figure_stay_apart(name: str, blindness: str | None, toy: MemoryIndex) -> None:
    used = set(colours([trace.to_plotly_json() for trace in figure(name, toy).data]))
    used -= {style.CLEAR, style.GRID, "white"}
    assert len(used) > 3
    assert used <= set(PALETTE.values())
    for one, other in combinations(sorted(used), 2):
        distance = seen(one, blindness).delta_e(seen(other, blindness), method="2000")
        assert distance >= APART, (name, one, other)


def test_the_simulation_sees_what_it_should() -> None:
    red, green = seen("#ff0000", "deutan"), seen("#00b400", "deutan")
    assert red.delta_e(green, method="2000") < Color("#ff0000").delta_e(Color("#00b400"), method="2000") / 3


STYLE = Path(workbench.views.__file__).parent / "living" / "view.css"


@pytest.mark.parametrize("blindness", [None, "protan", "deutan"])
def test_the_colours_of_the_living_view_stay_apart_in_both_themes(blindness: str | None) -> None:
    themes = [re.findall(r"--(blue|orange|purple): (#\w+)", line) for line in STYLE.read_text().splitlines()]
    for used in (dict(found) for found in themes if found):
        assert len(used) == 3
        for one, other in combinations(used.values(), 2):
            assert seen(one, blindness).delta_e(seen(other, blindness), method="2000") >= APART
