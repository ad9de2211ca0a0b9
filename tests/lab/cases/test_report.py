"""A report of a case: what it says, and that no text of the case becomes markup."""

from __future__ import annotations

import re
from pathlib import Path

from tests.commands import Run
from tests.conftest import PROJECT
from tests.lab.cases.test_hostile import EVIL, GOOD, evil
from workbench_plugins.cases.model import parsed_case, save_case
from workbench_plugins.cases.report import case_html, case_markdown
from workbench_plugins.cases.running import run_case, run_releases

FILE = PROJECT / "tests" / "cases" / "openclaw-16021.case.yaml"


def tags(page: str) -> set[str]:
    return set(re.findall(r"<(\w+)", page))


def test_the_markdown_says_what_happens_why_and_since_when(run: Run) -> None:
    outcome = run("case", "report", FILE)
    assert outcome.code == 0
    for text in (
        "# A question in plain words finds nothing",
        "- Observed: below the floor; returned: nothing.",
        "score = 0.7 × 0.4988 + 0.3 × 0 = 0.3492",
        "First bad: openclaw-2026.2.13. First good after it: openclaw-2026.7.1.",
        "```yaml\ncase: 1",
    ):
        assert text in outcome.out


def test_the_page_needs_nothing_from_elsewhere(run: Run, tmp_path: Path) -> None:
    assert run("case", "report", FILE, "--html", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert {"table", "pre"} <= tags(page)
    assert not {"script", "img", "link", "iframe", "object"} & tags(page)
    assert not re.search(r"\s(src|href|on\w+)=", page)
    assert "default-src 'none'" in page
    assert "floor 0.35" in page


def test_no_text_of_a_case_becomes_markup() -> None:
    case = evil(parsed_case(GOOD, "good"))
    report = run_case(case), run_releases(case)
    page, plain = case_html(*report), case_markdown(*report)
    assert "script" not in tags(page)
    assert not {"\x1b", "\x07", "\u202e"} & set(page + plain)
    outside = re.sub(r"^(`{3,}).*?^\1$", "", plain, flags=re.M | re.S)
    assert "<script>" not in outside
    assert "````" in plain


def test_a_system_without_releases_is_reported_without_them(run: Run, tmp_path: Path) -> None:
    text = GOOD.replace("openclaw-2026.2.13", "engine-rrf-60")
    file = save_case(parsed_case(text, "good"), tmp_path / "good.case.yaml")
    outcome = run("case", "report", file)
    assert outcome.code == 0
    assert "## Releases" not in outcome.out
    assert "no releases" in outcome.err
    assert EVIL not in outcome.out
