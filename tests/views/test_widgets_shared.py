"""What all widgets share: settings that are checked, a status line, a table, and code."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from workbench.errors import InputError
from workbench.systems.openclaw import SHIPPED
from workbench.views.html import framed, html_table
from workbench.views.text import Table
from workbench.views.widgets.panel import pipeline_code
from workbench_plugins.asking import Number, status_html
from workbench_plugins.engines.widget import FusionLab


def test_settings_can_be_set_in_part_and_read_back() -> None:
    lab = FusionLab()
    lab.settings = {"k": 10, "watch": "v1"}
    assert (lab.settings["k"], lab.settings["watch"], lab.settings["method"]) == (10, "v1", "rrf-60")


@pytest.mark.parametrize(
    ("values", "problem", "remedy"),
    [
        ({"kay": 10}, "no setting 'kay'", "It has question, method"),
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
        lab.settings = {"min_score": 0.1, "keyword": 0.5, **values}
    assert problem in refused.value.problem
    assert remedy in refused.value.remedy
    assert lab.settings == before


def test_a_page_that_comes_late_is_given_the_figure_as_it_is() -> None:
    lab = FusionLab()
    lab.settings = {"min_score": 0.72}
    given = json.loads(lab.figure.get_state()["drawn"])
    assert [trace["x"] for trace in given["data"] if trace.get("name") == "floor"] == [[0.72, 0.72]]
    assert given["layout"]["xaxis2"]["range"] == pytest.approx([0, 1.03])


def test_a_slider_changes_the_figure_in_one_message_and_a_page_that_asks_gets_plotly() -> None:
    lab = FusionLab(min_score=0.35)
    sent: list[str] = []
    lab.figure.observe(lambda change: sent.append(change["name"]), "drawn")
    lab.settings = {"min_score": 0.3}
    assert sent == ["drawn"]
    brought: list[Any] = []
    lab.figure.send = lambda *message: brought.append(message)
    lab.figure.heard(None, "plotly", [])
    [(message, [source])] = brought
    assert message == "plotly"
    assert b"Plotly" in source


def test_a_number_and_its_box_agree_and_both_have_the_label() -> None:
    heard: list[float] = []
    number = Number("min score", 0.35, 0, 1, 0.01, lambda change: heard.append(change["new"]))
    number.box.value = 0.2
    assert number.value == 0.2
    assert heard == [0.2]
    assert (number.slider.description, number.box.tooltip) == ("min score", "min score")
    number.span(0, 0.1, 0.001, 0.05)
    assert (number.slider.value, number.box.value, number.box.step) == (0.05, 0.05, 0.001)
    number.span(2, 3, 0.1, 2.5)
    assert (number.slider.value, number.box.value, number.box.min) == (2.5, 2.5, 2)


def test_a_table_has_a_caption_and_headers_with_their_scope() -> None:
    html = html_table(Table("What <is>", ("name", "score"), (("a & b", "1"), ("c", "2"))))
    assert "<caption>What &lt;is&gt;</caption>" in html
    assert html.count('<th scope="col">') == html.count('<th scope="row">') == 2
    assert '<th scope="row">a &amp; b</th><td>1</td>' in html


def test_a_status_line_is_announced_and_harmless() -> None:
    assert re.fullmatch('<div role="status"[^>]*>1 &lt; 2</div>', status_html("1 < 2"))


def test_the_table_and_the_code_are_written_when_they_are_opened() -> None:
    lab = FusionLab()
    table, code = (one for one in lab.folded)
    assert [one.content.layout.display for one in lab.folded] == ["none", "none"]
    for one in lab.folded:
        one.button.value = True
    assert table.content.value == framed(html_table(lab.table))
    assert "user-select:all" in code.content.value
    lab.settings = {"method": "txtai"}
    assert "txtai: all candidates" in table.content.value
    assert "ENGINES[&#x27;txtai&#x27;]" in code.content.value
    table.button.value = False
    assert table.content.layout.display == "none"


def test_code_names_a_system_or_takes_it_from_the_evaluations() -> None:

    assert pipeline_code(SHIPPED) == ["pipeline = wb.system('openclaw-2026.2.13')"]
    assert "one.pipeline for one in evaluations" in pipeline_code(SHIPPED.asking(limit=3))[0]
