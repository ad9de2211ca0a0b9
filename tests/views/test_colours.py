"""The colours that stand together in a figure can be told apart, with colour-blind eyes too."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import plotly.graph_objects as go
import pytest
from coloraide import Color

from tests.lab.test_survival import of
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import Question, QuestionSet
from workbench.measure.reach import reaches
from workbench.measure.thresholds import scores
from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import search
from workbench.systems.openclaw import EIGHT, SHIPPED, THREE_FIXES
from workbench.views.figures import style
from workbench.views.widgets.survival import survival_figure
from workbench.views.widgets.threshold import threshold_figure
from workbench_plugins.engines.presets import ENGINES, fuse
from workbench_plugins.engines.whose_fusion import EXAMPLE
from workbench_plugins.engines.widget import fusion_figure
from workbench_plugins.explore.explorer import explorer_figure
from workbench_plugins.explore.microscope import dissect
from workbench_plugins.explore.microscope_widget import microscope_figure

APART = 10.0
"""The least CIEDE2000 distance of two colours; about 2 is what an eye can just tell side by side."""

PALETTE = {name: value for name, value in vars(style).items() if name.isupper() and str(value)[0] == "#"}


def figure(name: str, toy: MemoryIndex) -> go.Figure:
    """A figure with all that it can show."""
    if name == "fusion":
        return fusion_figure(fuse(ENGINES["weaviate-relative"].fusion, *EXAMPLE), 0.35, {"v1"})
    if name == "survival":
        return survival_figure([of(one, "tea", "memory/tea.md", toy) for one in EIGHT[:6]])
    if name == "microscope":
        return microscope_figure(dissect("green tea in the morning", toy))
    if name == "explorer":
        return explorer_figure(*(search("tea", one, toy) for one in (SHIPPED, THREE_FIXES)), "memory/tea.md")
    asked = QuestionSet(questions=(Question(question="tea", target="memory/tea.md"),))
    [evaluation] = evaluate(asked, [SHIPPED], toy)
    return threshold_figure(scores(evaluation), reaches(SHIPPED))


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


@pytest.mark.parametrize("name", ["threshold", "fusion", "survival", "microscope", "explorer"])
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
