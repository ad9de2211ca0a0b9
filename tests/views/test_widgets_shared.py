"""What all widgets share: settings that are checked, a status line, a table, and code."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.errors import InputError
from workbench.systems.openclaw import SHIPPED
from workbench.tables import Table, html_table
from workbench.views.living.as_code import pipeline_code
from workbench_plugins.engines.widget import FusionLab


def test_settings_can_be_set_in_part_and_read_back() -> None:
    lab = FusionLab()
    lab.settings = {"k": 10, "watch": "v1"}
    assert (lab.settings["k"], lab.settings["watch"], lab.settings["method"]) == (10, "v1", "rrf-60")


@pytest.mark.parametrize(
    ("values", "problem", "remedy"),
    [
        ({"kay": 10}, "no setting 'kay'", "It has method"),
        ({"method": "rrf"}, "method cannot be 'rrf'", "Choose one of: rrf-60"),
        ({"k": -1}, "k cannot be -1", "from 0 to 100"),
        ({"k": "ten"}, "k cannot be 'ten'", "from 0 to 100"),
        ({"k": float("nan")}, "k cannot be nan", "from 0 to 100"),
        ({"share": 0.5}, "share has no effect with the current settings", "Choose a method that uses it"),
        (
            {"question": "Who?"},
            "question has no effect with the current settings",
            "Choose a method that uses it",
        ),
    ],
)
def test_a_setting_that_cannot_be_is_refused_and_nothing_changes(
    values: dict[str, Any], problem: str, remedy: str
) -> None:
    lab = FusionLab()
    before = lab.settings
    with pytest.raises(InputError) as refused:
        lab.settings = {"min_score": 0.1, **values}
    assert problem in refused.value.problem
    assert remedy in refused.value.remedy
    assert lab.settings == before


def test_a_table_has_a_caption_and_headers_with_their_scope() -> None:
    html = html_table(Table("What <is>", ("name", "score"), (("a & b", "1"), ("c", "2"))))
    assert "<caption>What &lt;is&gt;</caption>" in html
    assert html.count('<th scope="col">') == html.count('<th scope="row">') == 2
    assert '<th scope="row">a &amp; b</th><td>1</td>' in html


def test_code_names_a_system_or_takes_it_from_the_evaluations() -> None:

    assert pipeline_code(SHIPPED) == ["pipeline = wb.system('openclaw-2026.2.13')"]
    assert "one.pipeline for one in evaluations" in pipeline_code(SHIPPED.asking(limit=3))[0]
