"""The colours that stand together in a figure can be told apart, with colour-blind eyes too."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest
from coloraide import Color

import workbench.views

APART = 10.0
"""The least CIEDE2000 distance of two colours; about 2 is what an eye can just tell side by side."""


def seen(colour: str, blindness: str | None) -> Color:
    """The colour as it is seen: Machado, Oliveira and Fernandes 2009, severity 1."""
    return Color(colour).filter(blindness, 1, method="machado") if blindness else Color(colour)


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
