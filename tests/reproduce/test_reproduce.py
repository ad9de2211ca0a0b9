"""Bug reports as they were pasted: what is read with its place, the verdict, and the case that runs."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import combinations
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import yaml

from tests.commands import Run
from tests.conftest import PROJECT
from workbench.errors import InputError, ProviderError
from workbench.masking import masked
from workbench_plugins.cases.model import load_case
from workbench_plugins.cases.running import run_case
from workbench_plugins.engines.museum import specimen
from workbench_plugins.reproduce.checks import computed
from workbench_plugins.reproduce.facts import GIVEN, KINDS, Fact, Report
from workbench_plugins.reproduce.judge import proposed
from workbench_plugins.reproduce.pasted import lines_of
from workbench_plugins.reproduce.reading import read_report
from workbench_plugins.reproduce.report_patterns import WORDS
from workbench_plugins.reproduce.spans import Span
from workbench_plugins.reproduce.verdicts import EXIT_CODES, NEEDS, verdict_of

REPORTS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("reports.yaml").read_text(encoding="utf-8")
)
"""Public reports by their references."""


@pytest.mark.parametrize("name", REPORTS)
def test_the_question_the_file_and_what_happened_are_read(name: str) -> None:
    wanted = REPORTS[name]
    found = read_report(wanted["text"])
    assert (found.value("question"), found.symptom) == (wanted["question"], wanted["happened"])
    assert found.value("target") == wanted.get("file", found.value("target"))
    assert found.system.name == wanted.get("system", found.system.name)


@pytest.mark.parametrize("name", REPORTS)
def test_each_fact_stands_where_it_says_in_the_report(name: str) -> None:
    text = masked(REPORTS[name]["text"])
    for one in read_report(text).facts:
        assert one.kind in KINDS
        assert one.line == text.count("\n", 0, one.start) + 1
        if one.kind in ("question", "target", "engine", "release", "symptom", "mechanism", "outside"):
            assert text[one.start : one.end].replace("\n", " ") == one.value


def test_places_are_those_of_the_pasted_text_whatever_stands_before() -> None:
    text = "\ufeff# No hits\r\n<!-- a form -->\r\nkey: sk-abcdefgh12345678\r\nQuery: tea &amp; cake\r\n"
    (found,) = read_report(text).of("question")
    assert (found.value, found.line) == ("tea & cake", 4)
    assert text[found.start : found.end] == "tea &amp; cake"[: found.end - found.start]


def test_a_release_or_a_setting_has_its_place_and_nothing_is_assumed() -> None:
    text = "# No results\n\nOpenClaw 2026.3.2\nQuery: kettle\nminScore is 0.4 and `maxResults: 3`\n"
    found = read_report(text)
    assert {one.name: (one.value, one.line) for one in found.of("setting")} == {
        "min_score": ("0.4", 5),
        "limit": ("3", 5),
    }
    assert (found.value("release"), found.system.exact) == ("2026.3.2", True)
    assert found.of("target") == found.of("note") == []


@pytest.mark.parametrize(
    ("release", "system", "exact"),
    [("2026.9.6", "9.6", True), ("2031.1.1", "9.6", False), ("2020.1.1", "2.13", False)],
)
def test_a_release_is_exact_between_the_first_and_the_last_one_here(
    release: str, system: str, exact: bool
) -> None:
    found = read_report(f"OpenClaw {release} finds nothing").system
    assert (found.name, found.exact) == (f"openclaw-2026.{system}", exact)


FORMS = yaml.safe_load(Path(__file__).with_name("forms.yaml").read_text(encoding="utf-8"))
"""Texts of reports in many forms, with what is read of them."""


@pytest.mark.parametrize("name", FORMS)
def test_scores_settings_and_notes_are_read_in_many_forms(name: str) -> None:
    wanted = FORMS[name]
    found = read_report(wanted["text"])
    assert found.settings == wanted.get("settings", found.settings)
    assert [one.whole.strip() for one in found.notes] == wanted.get(
        "notes", [one.whole.strip() for one in found.notes]
    )
    results = [f"{one.name}: {one.description} (line {one.line})" for one in found.results]
    assert results == wanted.get("results", results)
    assert found.system.name == wanted.get("system", found.system.name)
    assert found.value("question") == wanted.get("question", found.value("question"))
    assert found.value("target") == wanted.get("expected", found.value("target"))


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("# Search tool finds nothing (v9.0.12)\nIt broke.", "9.0.12"),
        ("# Search\n- OS: macOS 26.2\n- Python version: 3.11.2\n- tool version: 4.5.6", "4.5.6"),
        ("# Search\nObserved on SDK 1.3.0:\nnothing", "1.3.0"),
        ("# 检索\n##### 版本号：\n3.8.0\n##### 问题描述：\n结果不对", "3.8.0"),
        ("# Search\n- SDK version(e.g. toolkit v2.0.0):\nnothing", ""),
        ("# Search\nPython version: 3.11.2\nNode version 22.1.0", ""),
    ],
)
def test_the_release_of_an_unknown_program_is_read_where_it_is_called_one(text: str, release: str) -> None:
    assert read_report(text).value("release") == release


def test_a_report_that_contrasts_has_two_questions() -> None:
    found = read_report(
        '# Search misses notes\n- `search("red kettle")` returns nothing\n- `search("kettle")` finds it\n'
    )
    assert found.value("question") == "red kettle"
    assert found.value("question that works") == "kettle"


@pytest.mark.parametrize(
    ("text", "symptom"),
    [
        ("# Search\nIt does not return irrelevant notes.", ""),
        ("# Search\n## Expected\nno results\n## Actual\nunrelated notes", "noise"),
        ("# Search\nExpected: no results for nonsense.", ""),
    ],
)
def test_what_is_expected_or_denied_did_not_happen(text: str, symptom: str) -> None:
    assert read_report(text).symptom == symptom


@pytest.mark.parametrize(
    "line",
    [
        "2026-01-01 12:00:00 INFO Reranking 40 documents",
        "-- 0 results",
        "res ✓ memory.search 113ms",
        '"query": [0.9, -0.1, -0.6, 0.2],',
        "SELECT * FROM notes ORDER BY embedding <=> '[0.012, -0.044]' LIMIT 5;",
    ],
)
def test_a_log_a_vector_or_a_comment_is_no_question(line: str) -> None:
    for heading in ("", "## Example Queries\n", "## Question\n"):
        assert read_report(f"# Nothing comes back\n\n{heading}```\n{line}\n```\n").of("question") == []


@pytest.mark.parametrize(
    "line",
    [
        "It fails with some packages, such as `libssl`, and finds others.",
        "The search fetches more results, just for `Docs` to drop them after `Docs.delete`.",
        'They can\'t invoke "event" since the window is gone.',
        "The search in `gitweb` shows nothing.",
        '"git archive" gives another commit.',
        "I created the query in `storage.search`.",
        "The prompt is skipped with `--yes`.",
    ],
)
def test_a_name_that_a_report_mentions_is_no_question(line: str) -> None:
    found = read_report(f"# Wrong notes\n{line}\n")
    assert not found.of("question") + found.of("question that works")


@pytest.mark.parametrize(
    ("line", "question"),
    [
        ('Searching for "handleError" returns every caller.', "handleError"),
        (
            '"Where is the cache switched on" returned 40 chunks of other files.',
            "Where is the cache switched on",
        ),
        ('I want to find "this is a picture" in a note.', "this is a picture"),
        ("It misses some occurrences of the search term ‘Verisure’.", "Verisure"),
        ("```\nEnter a query: What did the president say?\n```", "What did the president say?"),
        ('Try these queries:\n\n• "the error 0xC019"\n• "contract 847"', "the error 0xC019"),
        ('I use this search phrases\n"hardware database"\n"database"', "hardware database"),
    ],
)
def test_what_a_report_presents_as_a_query_is_the_question(line: str, question: str) -> None:
    assert read_report(f"# Wrong notes\n{line}\n").value("question") == question


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# Duplicates\nSee.\nOne.\nTwo.\nThree.\nFour.\nA toggle can make it slower.", "needs"),
        ("# Umlauts are not indexed properly\nSee.", "needs"),
        ("# Why Hybrid Beats Vector\nA: 1/61 + 1/75 = 0.0297\nB: 1/72 + 1/61 = 0.0303\n", "needs"),
    ],
)
def test_a_word_on_speed_an_error_or_a_sum_decides_only_where_it_is_the_report(text: str, kind: str) -> None:
    assert verdict_of(read_report(text)).kind == kind


@pytest.mark.parametrize(
    "text",
    [
        '# Zero results\n`search("rope knots")` → nothing. Quotes require all words to stand side by side.',
        "# Zero results\n### Alternatives considered\nI filter the results in my code after the search.",
        "# Zero results\nIt seems like I should be taking (1-score) to sort them.",
        "# Zero results\nRebuilt after purging stale index shards, without a warning.",
        "# Zero results\nExpand hyphenated tokens in the tokenizer for better recall.",
        "# Zero results\nIt cannot match because the compound form was never indexed.",
    ],
)
def test_what_is_mended_wished_or_something_else_names_no_cause(text: str) -> None:
    assert verdict_of(read_report(text)).kind == "needs"


def test_a_picture_is_not_offered_as_a_question() -> None:
    report = '# Nothing is found\n<img width="704" alt="Screenshot of the ferry" src="https://example.org/1.png">\n'
    assert read_report(report).offered == []
    assert read_report(report).of("image")


@pytest.mark.parametrize(
    ("line", "question"),
    [
        ("When a package is searched for, say “sinon”, it is not in the list.", "sinon"),
    ],
)
def test_words_without_marks_or_after_other_words_are_the_question(line: str, question: str) -> None:
    assert read_report(f"# Wrong notes\n{line}\n").value("question") == question


@pytest.mark.parametrize(
    "line",
    [
        "When I search for a word that is in a note, nothing comes.",
        "Searching for terms with apostrophes fails.",
        "I have searched for existing issues, and found none.",
        "Type some text that should be found; nothing is.",
    ],
)
def test_words_that_stand_for_a_question_are_none(line: str) -> None:
    assert read_report(f"# Wrong notes\n{line}\n").of("question") == []


def test_what_is_above_nothing_does_not_depend_on_the_order_of_a_set() -> None:
    (line,) = lines_of("kettle")
    for signs in combinations(sorted(WORDS["weights"].keys() - {"bias"}), 3):
        weight = Span(line, (0, 6), "kettle", frozenset(signs)).weight
        assert weight == round(weight, 3)


def test_what_may_be_the_question_is_offered_as_an_option(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "r.md"
    file.write_text('# Odd results\nPeople get odd pages, for example "coding blocs".\n', encoding="utf-8")
    offered = run("reproduce", str(file))
    assert "Was one of these the question?" in offered.out
    assert "--question 'coding blocs'" in offered.out
    assert "Was one of these" not in run("reproduce", str(file), "--question", "coding blocs").out


def test_a_question_asked_with_two_settings_does_not_contradict_itself() -> None:
    call = 'memctl find query="router backup" n=5'
    text = (
        f"# find\nmin_score is 0.6.\n{call}\n# 0 results\n{call} min_score=0.3\n# it returns score: 0.5312\n"
    )
    verdict = verdict_of(read_report(text))
    assert verdict.kind == "stand-in"
    assert "a floor of 0.6 (line 2) drops it" in verdict.sentence


BARE = [
    ("I searched for ferry timetable and got nothing.", "ferry timetable"),
    ("When I ask my agent about the blue kayak it returns other notes.", "blue kayak"),
    ("2. Type Okonkwo", "Okonkwo"),
    ("Looking up settings.py with the CLI fails.", "settings.py"),
    ("No hits for the term piñata, although it is there.", "piñata"),
    ("I searched for something else and got nothing.", ""),
    ("I searched for notes with a date.", ""),
    ("The search is slow.", ""),
    ("I searched for all the words that anybody could ever think of, one by one.", ""),
]


@pytest.mark.parametrize(("line", "said"), BARE)
def test_words_without_marks_are_offered_and_not_read(line: str, said: str) -> None:
    report = read_report(f"# Odd results\n{line}\n")
    assert [one.value for one in report.offered] == [said] * bool(said)
    assert report.of("question") == []


def test_two_sentences_below_a_heading_are_no_question() -> None:
    text = "# Retrieval\n## Question\nNothing sets the breadth. Is the right item among the candidates?\n"
    assert read_report(text).of("question") == []


# Verdicts


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("openclaw/openclaw#39484", "needs"),
        ("openclaw/openclaw#25183", "stand-in"),
        ("basicmachines-co/basic-memory#577", "reproduced"),
        ("verygoodplugins/automem#73", "needs"),
        ("open-webui/open-webui#18096", "not a relevance bug"),
        ("Gentleman-Programming/engram#940", "stand-in"),
        ("supermemoryai/supermemory#1398", "needs"),
    ],
)
def test_a_report_ends_with_a_verdict_that_follows_from_it(name: str, kind: str) -> None:
    verdict = verdict_of(read_report(REPORTS[name]["text"]))
    assert verdict.kind == kind
    assert bool(verdict.ask) == (kind != "reproduced")
    if kind == "reproduced":
        assert verdict.case is not None
        again = run_case(verdict.case)
        assert (again.as_observed, again.holds, verdict.case.known_bug) == (True, False, "as reported")
        assert verdict.case.questions[0].question == REPORTS[name]["question"]
    if kind == "stand-in":
        assert verdict.sentence.startswith("Shown on a stand-in, which is not a reproduction: line ")


@pytest.mark.parametrize("name", REPORTS)
def test_nothing_is_reproduced_without_question_system_and_symptom(name: str) -> None:
    report = read_report(REPORTS[name]["text"])
    verdict = verdict_of(report)
    if verdict.kind == "reproduced":
        assert report.of("question")
        assert report.of("release")
        assert report.of("symptom")
        assert verdict.case is not None
        assert verdict.case.system.name == report.system.name


NOTE = "memory/tea.md:\n```\nThe kettle was descaled.\n```\n"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            f"# No results: joined with AND\nOpenClaw 2026.2.13\nQuery: kettle manual pages\n{NOTE}",
            "reproduced",
        ),
        (
            f"# No results\nOpenClaw 2026.2.13\nminScore: 0.2\nQuery: kettle descaled\n{NOTE}",
            "not reproduced",
        ),
        (f"# No results\nOpenClaw 2026.2.13\nQuery: kettle descaled\n{NOTE}", "needs"),
        ("# No results\nOpenClaw 2026.2.13\nQuery: kettle descaled", "needs"),
        (f"# No results\nOpenClaw 2026.2.13\nQuery: bus timetable\n{NOTE}", "needs"),
        (f"# No results\nQuery: kettle descaled\n{NOTE}", "needs"),
        ("# Memory index is stale after an update: no results", "not a relevance bug"),
        ("# Search is very slow\nA search takes 40 seconds.", "not a relevance bug"),
        ("# search_notes raises TypeError", "not a relevance bug"),
    ],
)
def test_verdicts_on_small_reports(text: str, kind: str) -> None:
    verdict = verdict_of(read_report(text))
    assert verdict.kind == kind
    assert verdict.exit_code == EXIT_CODES[kind]


def test_a_question_that_fails_and_works_is_asked_about() -> None:
    verdict = verdict_of(
        read_report('# X\n`search("kettle")` returns nothing\n`search("kettle")` finds it\n')
    )
    assert verdict.kind == NEEDS
    assert "line 2 says that this question fails and line 3 that it works" in verdict.sentence


@pytest.mark.parametrize("name", WORDS["mechanism"])
def test_each_mechanism_is_shown_by_its_specimen(name: str) -> None:
    assert specimen(name).run().shows
    assert set(WORDS["mechanism"][name]["shows"]) <= set(WORDS["memories"]["happened"])


# Numbers

TABLE = (
    "| cosine distance | similarity |\n|---|---|\n| 0.2 | 0.8 |\n| 0.9 | 0.1 |\n| 1.0 | 1 |\n| 1.5 | {} |\n"
)
ORDERS = "| note | RRF | weighted |\n|---|---|---|\n| a | 1/61 = 0.0164 | 0.5 |\n| b | 0.0161 | {} |\n"


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        (
            "# Wrong order\n```\na = 0.7 * (0.5 + 50)\n  = 35.35\nb = 0.7 * 0.5 + 50 = 50.35\n```",
            "stand-in",
            "adds up",
        ),
        ("# Wrong order\n0.7 * 0.5 + 0.3 = 0.9", "needs", "does not add up: 0.7 * 0.5 + 0.3 = 0.65, not 0.9"),
        (
            "# Chunks pass\n" + TABLE.format("1"),
            "stand-in",
            "0.9 gives 0.1, and 1, which is further, gives 1",
        ),
        ("# Chunks pass\n" + TABLE.format("-0.5").replace("| 1 |", "| 0 |"), "needs", ""),
        ("# Wrong order\n" + ORDERS.format("0.4"), "not reproduced", "the same order, a, b"),
        ("# Wrong order\n" + ORDERS.format("0.6"), "needs", "weighted gives the order b, a"),
        (
            "# Cosine\n| cosine distance | expected |\n|---|---|\n| 0.0 | 1.0 |\n",
            "not a relevance bug",
            "1 − similarity",
        ),
        (
            '# Unrelated points\nqdrant, `"fusion": "rrf"`, returned with `"score": 0.5`',
            "stand-in",
            "the first hit of one list",
        ),
        (
            "# No results\nmin_score is 0.6. With min_score=0.3 it is there, with score: 0.5312",
            "stand-in",
            "a floor of 0.6 (line 2) drops it",
        ),
        ("# No results\nmin_score is 0.6. With min_score=0.3 it is there, with score: 0.7", "needs", ""),
        ("# No results\nThe floor is 0.6, and another note has score: 0.5312", "needs", ""),
        ("# No results\nWith min_score 0.7 or 0.6 nothing comes. score: 0.5312", "needs", ""),
        (
            "# It scores badly\nscore 0.016393 for the exact note",
            "stand-in",
            "0.016393: 1 / (60 + 1)",
        ),
    ],
)
def test_the_numbers_of_a_report_are_computed_again(text: str, kind: str, says: str) -> None:
    verdict = verdict_of(read_report(text))
    assert verdict.kind == kind
    assert says in " ".join((verdict.sentence, *verdict.more))


@pytest.mark.parametrize(
    ("weights", "kind"), [("0.9998, 0.0001, 0.0001", "not reproduced"), ("0.4, 0.3, 0.3", "needs")]
)
def test_min_max_keeps_an_order_that_the_other_weights_cannot_change(weights: str, kind: str) -> None:
    lists = "- Document A: 1200\n- Document B: 1000\n- Document C: 300\n"
    text = f'# Wrong ranking\n{lists}```json\n{{"weights": [{weights}], "technique": "min_max"}}\n```\n'
    assert verdict_of(read_report(text)).kind == kind


@pytest.mark.parametrize("text", ["__import__('os')", "1 +", "a * 2", "1 / 0", "2 ** 9 ** 9 ** 9", "(" * 500])
def test_only_plain_arithmetic_is_computed(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        computed(text)


def test_the_lists_of_a_report_are_fused_and_compared_number_by_number() -> None:
    rows = "| a.md | 0.9 | 0.1 | {} |\n| b.md | 0.5 | 0.9 | {} |\n"
    text = (
        "# Weaviate ranks the wrong note first\nrelativeScoreFusion, alpha 0.75, b.md should be first\n"
        "| file | vector | bm25 | final |\n|---|---|---|---|\n"
    )
    right = verdict_of(read_report(text + rows.format("0.75", "0.25")))
    assert right.kind == "reproduced"
    assert right.case is not None
    assert right.case.memory.lists is not None
    wrong = verdict_of(read_report(text + rows.format("0.65", "0.25")))
    assert wrong.kind == NEEDS
    assert "gives a.md 0.75, and not 0.65" in " ".join(wrong.more)


@pytest.mark.parametrize(
    ("engine", "said", "repair"),
    [
        (
            "pgvector 0.7.4",
            "It returns only 3 rows. EXPLAIN says `Rows Removed by Filter: 37`.",
            "pgvector 0.8.0 and later: SET hnsw.iterative_scan = strict_order",
        ),
        (
            "qdrant 1.9",
            "No results are left, since the filter is applied after the top 20 candidates.",
            "the condition as the query's filter, on a field with an index",
        ),
        (
            "sqlite-vec 0.1.6",
            "I get 1 row, while 80 match.\n```sql\nWHERE v.e MATCH ? AND k = 10 AND n.folder = 'work'\n```",
            "rowid IN (SELECT",
        ),
        (
            "Our own engine",
            "No results: the filter is applied after the top 20.",
            "filter first, or look further",
        ),
    ],
)
def test_a_filter_after_the_candidates_is_repaired_in_the_words_of_the_engine(
    engine: str, said: str, repair: str
) -> None:
    verdict = verdict_of(read_report(f"# A filtered search misses rows\n{engine}\n{said}\n"))
    assert verdict.kind == "stand-in"
    assert any(one.startswith("Repair: ") and repair in one for one in verdict.more)


def test_a_condition_on_the_table_of_the_vectors_is_no_late_filter() -> None:
    report = "# Nothing found\nsqlite-vec\n```sql\nWHERE v.e MATCH ? AND k = 10 AND v.folder = 'work'\n```"
    assert not read_report(report).of("mechanism")


def test_a_case_that_is_there_is_kept_and_the_verdict_still_said(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = tmp_path / "r.md"
    report.write_text("# No results\nThe filter is applied after the top 20.\n", encoding="utf-8")
    first, second = (run("reproduce", report) for _ in range(2))
    assert (first.code, second.code) == (11, 11)
    assert first.out == second.out
    assert "Run it: workbench case run cup.case.yaml" in first.err
    assert "cup.case.yaml is there and was kept" in second.err


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (
            '<script>var q="secret"</script><h1>Nothing found</h1><p>I asked <code>red kettle</code>.</p>',
            "red kettle",
        ),
        ('{"query":"red kettle","took":3,"hits":{"total":0,"hits":[]}}', "red kettle"),
    ],
)
def test_a_page_and_an_answer_of_an_api_are_read(text: str, question: str) -> None:
    report = read_report(text)
    assert [one.value for one in report.of("question")] == ([question] if question else [])
    assert report.symptom == "missing"


def test_two_reports_in_one_paste_are_asked_for_one_by_one() -> None:
    text = '# Search is slow\nIt takes 12 seconds.\n\n# Search finds nothing\nI asked "red kettle".\n'
    verdict = verdict_of(read_report(text))
    assert (verdict.kind, verdict.ask) == (
        NEEDS,
        ("Line 4 begins another report: please give each of them by itself",),
    )
    sections = text.replace("# Search finds nothing", "# Steps")
    assert verdict_of(read_report(sections)).kind == "not a relevance bug"


# The command


def test_the_command_prints_facts_as_lines_and_writes_the_case(run: Run, tmp_path: Path) -> None:
    text = f"# No results: joined with AND\nOpenClaw 2026.2.13\nQuery: kettle manual pages\n{NOTE}"
    (tmp_path / "r.md").write_text(text, encoding="utf-8")
    out = tmp_path / "a b.case.yaml"
    told = run("reproduce", tmp_path / "r.md", "--out", out)
    assert told.code == 0, told.err
    assert f"workbench case run '{out}'" in told.err
    assert told.out.startswith("Reproduced: on openclaw-2026.2.13, the file is not in the answer")
    assert 'r.md:3: question: "kettle manual pages"' in told.out
    shown = run("case", "run", out)
    assert (shown.code, "A known bug: as reported" in shown.out) == (1, True)
    again = run("reproduce", tmp_path / "r.md", "--out", out)
    assert (again.code, "exists already" in again.err) == (2, True)
    data = run("reproduce", tmp_path / "r.md", "--out", out, "--overwrite", "--json").json()
    (question,) = [one for one in data["facts"] if one["kind"] == "question"]
    assert text[question["start"] : question["end"]] == question["value"] == "kettle manual pages"
    assert load_case(Path(data["case"])).case.questions[0].question == question["value"]


def test_a_report_without_its_facts_needs_answers_and_options_give_them(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"# The search finds nothing\n![a picture](https://host/a.png)\n"
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    told = run("reproduce", "-")
    assert told.code == 10
    assert "It may be in the picture of line 2: please type it." in told.out
    (tmp_path / "r.md").write_text("# The search finds nothing: all words must match", encoding="utf-8")
    (tmp_path / "tea.md").write_text("The kettle was descaled.\n", encoding="utf-8")
    given = [
        "--question",
        "kettle manual pages",
        "--system",
        "openclaw-2026.2.13",
        "--note",
        tmp_path / "tea.md",
    ]
    told = run("reproduce", tmp_path / "r.md", *given, "--out", tmp_path / "a.case.yaml")
    assert (told.code, 'given: question: "kettle manual pages"' in told.out) == (0, True)
    floor = run(
        "reproduce",
        tmp_path / "r.md",
        *given,
        "--set",
        "query.join=OR",
        "--set",
        "min_score=0.1",
        "--out",
        tmp_path / "b.case.yaml",
    )
    assert floor.code == 1, floor.out


@pytest.mark.parametrize(
    "given", [["--system", "openclaww"], ["--set", "limit"], ["--happened", "odd"], ["--note", "none.md"]]
)
def test_a_correction_that_cannot_be_used_is_one_sentence(given: list[str], run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.md").write_text("# Nothing found", encoding="utf-8")
    refused = run("reproduce", tmp_path / "r.md", *given)
    assert (refused.code, refused.out) == (2, "")


# Bad input

LOG = "2026-01-01 12:00:00 DEBUG nothing of interest in this line of a log\n" * 14_000
HOSTILE = """# Nothing <script>alert(1)</script>

Query: "tea\x1b[2J\u202e | `x`"
api_key=sk-abcdefgh12345678
"""


def read(text: str) -> Report:
    found = read_report(text)
    assert "sk-abcdefgh" not in str((found.facts, found.candidates, found.title, found.lines))
    return found


def test_scripts_secrets_and_long_logs_do_no_harm() -> None:
    assert read(HOSTILE).value("question").startswith("tea")
    assert read(f"# No hits\n\nQuery: kettle\n```\n{LOG}```\n").value("question") == "kettle"
    after = read(f"# No hits\n```\n{LOG}```\nQuery: kettle\nExpected: memory/tea.md\n")
    assert (after.value("question"), after.value("target")) == ("kettle", "memory/tea.md")
    for text in (
        "tea " + "<pre>" * 100_000 + "<b><code>" * 100_000,
        "x" * 1_000_000,
        "(" * 100_000 + '"' * 100_000 + "search " * 50_000,
        "# t\n|" + "score|" * 1_000 + "\n" + ("|" + "0.5|" * 1_000 + "\n") * 50,
        "```json\n" + '{"a":[' * 50_000,
        "1.0+" * 500_000 + " = 2",
    ):
        assert verdict_of(read(text)).kind in EXIT_CODES
    assert read("see ../../etc/passwd.md, which should be found").of("target") == []


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ('I search for "rooibos tea" and memory/tea.md is missing.', "memory/tea.md"),
        ("The note `notes/tea.md` does not show up.", "notes/tea.md"),
        ("After tea.md was edited, the notes of my team are missing.", ""),
        ("The results are missing although tea.md was indexed.", ""),
    ],
)
def test_a_file_that_is_said_to_be_missing_is_the_expected_one(text: str, file: str) -> None:
    assert [one.value for one in read(text).of("target")] == ([file] if file else [])


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("# Keine Treffer\n\nSuche: Wo liegt der Schlüssel?", "Wo liegt der Schlüssel?"),
        ("# 没有结果\n\n查询：钥匙在哪里", "钥匙在哪里"),
        ('# search_notes("what\'s the plan for Q3?") returns nothing', "what's the plan for Q3?"),
        ('Since the update, I asked "who is my landlord" and it has no results.', "who is my landlord"),
        ("# 見つからない\n\n検索: 「鍵はどこ」", "鍵はどこ"),
    ],
)
def test_reports_in_other_words_and_languages_are_read(text: str, question: str) -> None:
    found = read_report(text)
    assert (found.value("question"), found.symptom) == (question, "missing")


@pytest.mark.parametrize("data", [b"", b"\n\n# \n", b"\xff\xfe", None])
def test_what_is_no_report_is_refused(data: bytes | None, run: Run, tmp_path: Path) -> None:
    if data is not None:
        (tmp_path / "r.md").write_bytes(data)
    refused = run("reproduce", tmp_path / "r.md", "--out", tmp_path / "a.case.yaml")
    assert (refused.code, refused.out) == (2, "")
    assert not (tmp_path / "a.case.yaml").exists()


def test_a_report_without_a_word_is_refused() -> None:
    with pytest.raises(InputError, match="no text"):
        read_report("```\n```")


# A language model


class Model(BaseHTTPRequestHandler):
    """Answers as a chat API of OpenAI's form does, with what it is told to say."""

    said: ClassVar[str] = ""
    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.asked.append(body)
        answer = json.dumps({"choices": [{"message": {"content": self.said}}]}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def model() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"small@http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def test_a_language_model_proposes_what_stands_in_the_report_alone(model: str) -> None:
    Model.said = 'Here: {"question": "tide table", "expected": "/etc/passwd"}'
    text = "# It went badly with the tide table\nMinScore 0.2\napi_key=sk-abcdefgh12345678\n"
    report = read_report(text)
    (found,) = proposed(report, model)
    assert (found.kind, text[found.start : found.end]) == ("question", "tide table")
    assert found.source == "small at 127.0.0.1 proposed it"
    assert "sk-abcdefgh" not in Model.asked[-1]
    assert report.with_given(found).value("question") == "tide table"
    assert proposed(read_report("# No results\nQuery: kettle"), model) == []


@pytest.mark.parametrize("said", ["I cannot say.", "{bad}", "[]"])
def test_a_model_that_says_no_object_is_an_error(said: str, model: str) -> None:
    Model.said = said
    with pytest.raises(ProviderError, match="The judge small failed"):
        proposed(read_report("# It went badly"), model)


@pytest.mark.parametrize("judge", ["small", "@http://a", "small@file:///a", "small@http://me:pw@host"])
def test_a_judge_without_a_model_or_an_address_is_refused(judge: str) -> None:
    with pytest.raises(InputError):
        proposed(read_report("# It went badly"), judge)


def test_what_the_user_gives_stands_before_what_was_read() -> None:
    report = read_report("# No results\nQuery: kettle\nlimit: 3\n")
    given = report.with_given(
        Fact("question", "tea", source=GIVEN), Fact("setting", "9", name="limit", source=GIVEN)
    )
    assert (given.value("question"), given.settings) == ("tea", {"limit": "9"})


SCORES = """# memory_search returns nothing for natural questions

OpenClaw 2026.2.13, default settings, local embeddings (all-MiniLM-L6-v2).

I asked `what happens if I lose a score` and got `[]`. The note is music/library-loans.md:

```
A lost vocal score costs you 22 euro.
```

If I ask just "lost score" it is found with 0.61.
"""


def test_the_model_that_a_report_names_decides(run: Run, tmp_path: Path) -> None:
    report = read_report(SCORES)
    (model,) = report.of("model")
    assert (model.line, SCORES[model.start : model.end]) == (3, "all-MiniLM-L6-v2")
    (note,) = report.notes
    assert (note.path, note.whole) == ("music/library-loans.md", "A lost vocal score costs you 22 euro.")
    (place,) = report.of("note")
    assert SCORES[place.start : place.end].endswith("A lost vocal score costs you 22 euro.")
    assert verdict_of(report).sentence.endswith(
        "1 note of the report and the vectors of all-MiniLM-L6-v2, which line 3 names."
    )
    (tmp_path / "r.md").write_text(SCORES, encoding="utf-8")
    (tmp_path / "loans.md").write_text("# Loans\n\nA lost vocal score costs you 22 euro.\n", encoding="utf-8")
    given = run("reproduce", tmp_path / "r.md", "--note", tmp_path / "loans.md", "--out", tmp_path / "a.yaml")
    assert (given.code, "with 1 note given and the vectors of" in given.out) == (0, True)
    assert "music/library-loans.md" not in given.out


def test_a_model_that_is_not_packaged_is_a_fact_and_is_not_asked_for() -> None:
    verdict = verdict_of(read_report(SCORES.replace("all-MiniLM-L6-v2", "nomic-embed-text-v1.5")))
    assert (verdict.kind, verdict.report.value("model")) == ("needs", "nomic-embed-text-v1.5")
    assert verdict.ask == ("Which score has this note in the vector search alone?",)


@pytest.mark.parametrize(
    "said",
    [
        "I switched to all-MiniLM-L6-v2 and nothing changed.",
        "With all-MiniLM-L6-v2 it works.",
        "I do not use all-MiniLM-L6-v2.",
        "Maybe it is all-MiniLM-L6-v2?",
        "all-MiniLM-L6-v2 and bge-m3 were compared.",
    ],
)
def test_a_model_that_may_not_be_the_one_in_use_is_no_fact(said: str) -> None:
    assert not read_report(f"# No results\nQuery: kettle\n\n{said}\n").of("model")


def test_a_memory_is_refused_with_what_to_do_instead(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.md").write_text(SCORES, encoding="utf-8")
    told = run("reproduce", tmp_path / "r.md", "-m", tmp_path)
    assert (told.code, "--note FILE" in told.err, "workbench case new" in told.err) == (2, True, True)


@pytest.mark.parametrize(
    ("said", "stale"),
    [
        ("umlauts are not indexed properly", False),
        ("accented words are never indexed", False),
        ("the tokenizer does it, so Chinese text is not indexed", False),
        ("hyphenated words are not indexed as one token", False),
        ("the note is not indexed", True),
        ("new files are not indexed until I restart", True),
    ],
)
def test_words_that_are_not_indexed_name_no_stale_index(said: str, stale: bool) -> None:
    report = read_report(f'# Search finds nothing\n\nI asked "Käse" and got nothing. But {said}.\n')
    assert [one.name for one in report.of("outside")] == ["index"] * stale


# The issue form


@pytest.mark.parametrize(("option", "happened"), [*enumerate(["missing", "order", "noise", "limit", "low"])])
def test_the_answers_of_the_issue_form_are_read_without_loss(option: int, happened: str) -> None:
    form = yaml.safe_load((PROJECT / ".github/ISSUE_TEMPLATE/search.yml").read_text(encoding="utf-8"))
    parts = {one["id"]: one["attributes"] for one in form["body"]}
    answers = {
        "question": "where is the rooibos",
        "expected": "memory/tea.md",
        "happened": parts["happened"]["options"][option],
        "system": "OpenClaw 2026.3.7",
        "settings": '```json\n{"memorySearch": {"query": {"minScore": 0.2, "maxResults": 3}}}\n```',
        "results": "```text\n0.612 memory/a.md\n```",
        "notes": "memory/tea.md:\n```\nA cup of tea.\n```\nmemory/hub.md:\n```\nThe hub grinds.\n```",
    }
    assert list(parts) == list(answers)
    found = read_report(
        "\n\n".join(f"### {parts[name]['label']}\n\n{said}" for name, said in answers.items())
    )
    assert (found.value("question"), found.value("target"), found.symptom) == (
        answers["question"],
        "memory/tea.md",
        happened,
    )
    assert (found.system.name, found.settings) == ("openclaw-2026.3.7", {"min_score": "0.2", "limit": "3"})
    assert [(one.path, one.whole) for one in found.notes] == [
        ("memory/tea.md", "A cup of tea."),
        ("memory/hub.md", "The hub grinds."),
    ]
    assert [one.name for one in found.results] == ["memory/a.md"]
