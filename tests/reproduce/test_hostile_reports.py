"""Whatever is pasted ends in bounded time with one verdict or one error, and nothing unseen is shown."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.commands import Run
from workbench.terminal import UNBOUNDED, text_of
from workbench_plugins.reproduce.commands import reply
from workbench_plugins.reproduce.facts import Report
from workbench_plugins.reproduce.reading import read_report
from workbench_plugins.reproduce.verdicts import EXIT_CODES, verdict_of

HEAD = '# Search finds nothing\nI asked "kettle" and got no results.\n'
COLUMNS, RULE, ROW = (f"|{cell * 1_000}\n" for cell in ("c|", "---|", "0.5|"))
LARGE = {
    "ten megabytes in a line": "x" * 10_000_000,
    "ten megabytes of words": "word " * 2_000_000,
    "ten megabytes of lines": "2026-01-01 INFO search took 3 ms\n" * 320_000,
    "a log of 100,000 lines": "```\n" + '[INFO] memory.search query="tea" results=0\n' * 100_000 + "```\n",
    "100,000 questions": "".join(f'I searched for "tea {one}": nothing.\n' for one in range(100_000)),
    "a table of 1,000 columns": COLUMNS + RULE + ROW * 500,
    "deep lists": "```json\n" + "[" * 100_000 + "]" * 100_000 + "\n```\n",
    "deep objects": "```json\n" + '{"a":' * 50_000 + "1" + "}" * 50_000 + "\n```\n",
    "deep quotations": ">" * 50_000 + " x\n",
    "deep sums": f"score: {'(' * 5_000}0.5*2{')' * 5_000} = 1.0\n",
    "fences in fences": "".join("`" * one + "\n" for one in range(3, 1_500)),
    "open marks": "<!--" * 50_000 + "<details>" * 20_000 + '"`*' * 50_000,
    "encoded": "aGVsbG8" * 200_000,
}
UNSEEN = "\u00ad\u200b\u202e\u202c\u2066\u2069\u2060\x1b\x07"


def read(text: str) -> Report:
    return read_report(text)


@pytest.mark.parametrize("name", LARGE)
def test_what_is_large_or_deep_is_read_in_bounded_time(name: str) -> None:
    began = time.process_time()
    verdict = verdict_of(read(HEAD + LARGE[name]))
    assert verdict.kind in EXIT_CODES
    assert len(text_of(reply(verdict, "report.md"), width=UNBOUNDED).splitlines()) < 60
    assert verdict.report.of("question")[0].value == "kettle"
    assert time.process_time() - began < 30, "seconds of CPU; a loop of a loop would take minutes"


@pytest.mark.parametrize("sign", UNSEEN)
def test_signs_that_are_not_seen_hide_no_fact_and_are_not_shown(sign: str) -> None:
    text = f'# Search finds no{sign}thing\nI asked "ket{sign}tle" and got no re{sign}sults.\n'
    verdict = verdict_of(read(text))
    written = "".join(str(getattr(part, "text", part)) for part in reply(verdict, "report.md"))
    assert "report.md:2: question:" in written
    assert not set(UNSEEN) & set(written)
    question = verdict.report.of("question")
    if sign.isprintable() or sign > "\x80":
        assert [one.value for one in question] == ["kettle"]
        assert text[question[0].start : question[0].end] == f"ket{sign}tle"
        assert verdict.report.symptom == "missing"


@pytest.mark.parametrize(
    "text",
    [
        '# Search\nI searched for "kettle" and it finds nothing.\nI searched for "kettle" and it finds it.',
        '# X\nThe query "kettle" finds nothing.\nThe query "kettle" finds it.',
    ],
)
def test_a_report_that_contradicts_itself_is_asked_about(text: str) -> None:
    verdict = verdict_of(read(text))
    assert verdict.sentence.startswith("Needs an answer: line 2 says that this question fails and line 3")
    assert [one.value for one in verdict.report.of("question")] == ["kettle"]


@pytest.mark.parametrize("heading", ["Search", "Query", "Question", "What did you search for"])
def test_a_sentence_about_a_question_is_not_the_question(heading: str) -> None:
    found = read(f'# Bug\n## {heading}\nI searched for "kettle" and it finds nothing.')
    assert [one.value for one in found.of("question")] == ["kettle"]
    assert [one.value for one in read(f'# Bug\n## {heading}\n"kettle"').of("question")] == ["kettle"]


@pytest.mark.parametrize(
    ("line", "question"),
    [
        ('Question: A simple one like "Where is the kettle?"', "Where is the kettle?"),
        ('My search query is for example "Where is the kettle".', "Where is the kettle"),
        ("- Query: top-10, one query at a time.", ""),
        ('The answer is "Where is the kettle".', ""),
    ],
)
def test_a_question_is_read_from_the_sentence_that_states_it(line: str, question: str) -> None:
    found = [one.value for one in read(f"# Search finds nothing\n\n{line}\n").of("question")]
    assert found == ([question] if question else [])


@pytest.mark.parametrize(
    "text",
    [
        "# Bug\nEach time I delete a file in the folder, it keeps showing up in the index.",
        "# Embeddings don't update when I edit a note",
        "# Bug\nAfter an edit the search still returns the old embedding.",
        "# Recall of HNSW is low\nThe exact scan finds the row, and the HNSW index does not.",
    ],
)
def test_an_index_that_is_not_up_to_date_or_approximate_is_no_bug_in_the_ranking(text: str) -> None:
    verdict = verdict_of(read(text))
    assert verdict.kind == "not a relevance bug"
    assert verdict.ask


def test_a_title_that_names_the_filter_behind_an_index_speaks_of_the_ranking() -> None:
    title = "# Recall drops on filtered queries (HNSW ef_search)"
    verdict = verdict_of(read(f"{title}\nThe filter comes after the 40 nearest rows: it returns nothing.\n"))
    assert verdict.kind == "stand-in"
    assert "the filter" in verdict.sentence or "filtered" in verdict.sentence


@pytest.mark.parametrize(
    "line",
    [
        "`websearch_to_tsquery` ANDs multi-word terms.",
        "The words are ANDed.",
        "The operator defaults to AND.",
    ],
)
def test_words_that_are_anded_are_a_mechanism(line: str) -> None:
    verdict = verdict_of(read(f"# A question of several words returns nothing\n{line}\n"))
    assert verdict.kind == "stand-in"
    assert "openclaw-and-join" in verdict.sentence


def test_ranks_that_ignore_a_margin_are_a_mechanism() -> None:
    verdict = verdict_of(read("# The nearest note ranks fourth\nRRF discards the score magnitude.\n"))
    assert verdict.kind == "stand-in"
    assert "rrf-ignores-the-margin" in verdict.sentence


def test_a_distance_that_is_sorted_as_a_score_is_read_in_chinese() -> None:
    verdict = verdict_of(read("# 检索结果排序反了\n返回的 score 是距离，代码却从大到小排序。\n"))
    assert verdict.kind == "stand-in"
    assert "mem0-distance-as-similarity" in verdict.sentence


def test_a_known_engine_is_asked_for_the_one_command_that_proves_it() -> None:
    verdict = verdict_of(read("# OpenClaw 2026.2.13: the index is stale\nStatus: dirty: yes\n"))
    assert verdict.kind == "not a relevance bug"
    assert "`openclaw memory index --force`" in verdict.ask[0]
    (other,) = verdict_of(read("# The index is stale\n")).ask
    assert "rebuilds the index" in other


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("1. type `kettle` in the search box", "kettle"),
        ('`memory_search("any query")` returns nothing', ""),
        ('`recall` with `query: "*"` always returns "No memories found", too.', ""),
        (
            'Running a simple search like:\n\n"Where is the kettle?"\n\nResults in:\n\n"I do not know."',
            "Where is the kettle?",
        ),
        ('The query returned:\n\n"I do not know."', ""),
        ("The `FirstRetriever `on a server or `SecondRetriever` on another one fails.", ""),
        ("Server: `2026.7.1-2` in the search", ""),
    ],
)
def test_a_question_has_its_own_marks_and_is_no_placeholder(text: str, question: str) -> None:
    assert read(f"# Nothing comes back\n\n{text}\n").value("question") == question


@pytest.mark.parametrize(
    "text",
    [
        "### Dify version\n\n1.7.2\n",
        "### Versions\n\nChroma 1.7.2\nPython 3.9.13\n",
        "### Version\n>=v1.7.2\n",
        "I am using version 1.7.2, and each one before it does so.",
    ],
)
def test_a_release_that_the_report_states_is_not_asked_for(text: str) -> None:
    verdict = verdict_of(read(f"# Nothing comes back\n{text}"))
    assert verdict.report.value("release") == "1.7.2"
    assert "version" not in " ".join(verdict.ask)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# Results are not sorted\n**Error message**\nNone\n", "needs"),
        ("# Search is slow and returns irrelevant results\n", "needs"),
        ("# A TypeError in the log, and irrelevant results\n", "needs"),
        ("# A syntax error is swallowed: no results\nQuery: tea-time\n", "stand-in"),
    ],
)
def test_an_error_is_the_answer_only_where_nothing_else_is_said(text: str, kind: str) -> None:
    assert verdict_of(read(text)).kind == kind


@pytest.mark.parametrize(
    "line",
    [
        "I ruled out that the terms are joined with AND.",
        "The min_score on the RRF scale is not the problem.",
        "I first thought the filter is applied after top-k, but it is not.",
        "Could it be that the threshold is applied to RRF scores?",
        "Maybe the candidates are post-filtered.",
        "The names in NFC and NFD were fixed in 2.3, and match.",
        "The reranker has a token budget of 512.",
        "The index is not stale.",
        "Maybe the index is stale.",
        "A permission filter is on.",
    ],
)
def test_a_cause_that_is_denied_suspected_or_only_mentioned_decides_nothing(line: str) -> None:
    assert verdict_of(read(f"# Search finds nothing\n\nNo results for my note.\n\n{line}\n")).kind == "needs"


def test_a_suspected_cause_is_shown_as_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.md").write_text("# No hits\nMaybe the candidates are post-filtered.\n", encoding="utf-8")
    told = run("reproduce", tmp_path / "r.md").out
    assert 'r.md:2: perhaps mechanism: qmd-filter-after-top-k, "post-filter"' in told


def test_nearer_results_of_a_larger_limit_ask_for_an_exact_search() -> None:
    text = '# A larger n_results changes the distances\nunless I set n_results to 300:\n`query("kettle")`\n'
    assert "exact" in verdict_of(read(text)).ask[0]


def test_the_answer_has_a_line_five_lines_that_show_it_and_a_step(run: Run, tmp_path: Path) -> None:
    settings = "".join(f"{name}: 0.{n}\n" for n, name in enumerate(("minScore", "alpha", "k1"), 2))
    text = f"# No hits\nDify 1.7.2\nQuery: kettle\nExpected: a.md\n{settings}![x](y)\nBM25 in mode AND\n"
    (tmp_path / "r.md").write_text(text, encoding="utf-8")
    verdict, shown, step, _ = run("reproduce", tmp_path / "r.md").out.strip().split("\n\n")
    assert verdict.startswith("Needs an answer: the report seems to lack the scores of each search and")
    assert len(shown.splitlines()) <= 6
    assert shown.splitlines()[-1] == "2 more lines: --details"
    assert step.startswith("Next, find out, or ask whoever reported it:\n> ")
    details = run("reproduce", tmp_path / "r.md", "--details").out
    assert len(details) > len(shown)
    assert "more line" not in details


def test_ten_megabytes_are_refused_by_the_command_in_a_sentence(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "report.md"
    file.write_text(HEAD + "x" * 10_000_000)
    found = run("reproduce", file)
    assert found.code == 2
    assert len(found.err.strip().splitlines()) <= 2


def test_a_list_of_possible_causes_decides_nothing() -> None:
    text = (
        "# Recall finds nothing\nQuery: kettle\n## Possible causes\n1. The index is not updated by a write\n"
    )
    assert verdict_of(read(text)).kind == "needs"
    assert verdict_of(read(text.replace("Possible causes", "Details"))).kind == "not a relevance bug"


def test_a_report_that_names_the_cause_is_asked_nothing(run: Run, tmp_path: Path) -> None:
    file, case = tmp_path / "r.md", tmp_path / "case.yaml"
    file.write_text(
        "# No results\nDify 1.7.2. All tokens are joined with AND: no results.\n", encoding="utf-8"
    )
    command = ("reproduce", file, "--out", case, "--force")
    told, whole = run(*command).out, run(*command, "--details").out
    asked = json.loads(run(*command, "--json").out)["ask"]
    assert told.startswith("Shown on a stand-in")
    assert "> " not in told
    assert asked
    assert all(f"> {one}" in " ".join(whole.split()) for one in asked)
