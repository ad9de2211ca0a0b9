"""Bug reports as they were pasted: what is read of them, the verdict, and the case that runs."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
import yaml

from tests.commands import Run
from tests.conftest import PROJECT
from workbench.errors import InputError, ProviderError
from workbench_plugins.cases.model import load_case
from workbench_plugins.cases.running import run_case
from workbench_plugins.reproduce.judge import told
from workbench_plugins.reproduce.reading import MADE, QUESTION, Report, read_report
from workbench_plugins.reproduce.trying import tried

REPORTS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("reports.yaml").read_text(encoding="utf-8")
)
"""Public reports by their references."""


@pytest.mark.parametrize("name", REPORTS)
def test_the_question_the_file_and_what_happened_are_read(name: str) -> None:
    wanted = REPORTS[name]
    found = read_report(wanted["text"])
    assert (found.question, found.happened) == (wanted["question"], wanted["happened"])
    assert found.expected == wanted.get("file", found.expected)
    assert found.system == wanted.get("system", found.system)


def test_each_thing_is_read_with_its_line_or_assumed_with_the_reason() -> None:
    text = "# No results\n\nOpenClaw 2026.3.2\nQuery: kettle\nminScore is 0.4 and `maxResults: 3`\n"
    facts = {one.what: one for one in read_report(text).facts}
    assert [facts[name].line for name in ("question", "min_score", "limit")] == [4, 5, 5]
    assert (facts["min_score"].value, facts["limit"].value) == ("0.4", "3")
    assert (
        facts["system"].description == "assumed: line 3 says 2026.3.2, which is not known here; it is nearest"
    )
    assert (facts["expected file"].value, facts["expected file"].line) == (MADE, 0)


@pytest.mark.parametrize(
    ("release", "system"), [("2026.9.6", "9.6"), ("2031.1.1", "9.6"), ("2020.1.1", "2.13"), ("99", "2.13")]
)
def test_a_release_that_is_not_known_is_the_last_one_before_it(release: str, system: str) -> None:
    assert read_report(f"OpenClaw {release} finds nothing").system == f"openclaw-2026.{system}"


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
    assert found.system == wanted.get("system", found.system)
    assert found.question == wanted.get("question", found.question)
    assert found.expected == wanted.get("expected", found.expected)


def test_notes_of_the_report_are_used_and_the_nearest_one_is_expected() -> None:
    notes = "### memory/tea.md\n```\nTea at four.\n```\n### memory/bike.md\n```\nThe bike has a hub.\n```\n"
    found = read_report(f"# Nothing found\n\nQuestion: where is the hub\n\n{notes}")
    assert [one.path for one in found.notes] == ["memory/tea.md", "memory/bike.md"]
    assert found.expected == "memory/bike.md"


def test_noise_before_a_note_with_words_of_the_question_is_a_wrong_order() -> None:
    found = read_report("# Irrelevant results\nQuery: the hub\n```md\nThe hub grinds.\n```\n")
    assert (found.happened, found.fact("what happened").told) == ("order", False)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("openclaw/openclaw#39484", "reproduced"),
        ("verygoodplugins/automem#73", "reproduced"),
        ("ohdearquant/khive#1064", "stand-in"),
        ("mem0ai/mem0#3144", "not reproduced"),
        ("openclaw/openclaw#134604", "reproduced"),
        ("douglasjordan2/c0#18", "reproduced"),
        ("open-webui/open-webui#18096", "cannot be told"),
    ],
)
def test_a_report_ends_with_a_verdict_and_a_case_that_shows_it(name: str, kind: str) -> None:
    verdict = tried(read_report(REPORTS[name]["text"]))
    assert verdict.kind == kind
    again = run_case(verdict.run.case)
    assert again.as_observed
    assert again.holds == (kind in ("cannot be told", "not reproduced"))
    assert verdict.run.case.known_bug == ("" if again.holds else "as reported")
    assert all(f"BLANK: {one.what}" in verdict.run.case.note for one in verdict.facts if not one.line)
    if not again.holds:  # every note is needed
        assert len(verdict.run.case.memory.notes or ()) == (5 if verdict.report.happened == "limit" else 1)


def test_what_does_not_happen_with_the_settings_is_tried_without_them() -> None:
    verdict = tried(read_report("# No results\nOpenClaw 2026.3.7\nQuery: kettle\nset minScore to 0\n"))
    assert verdict.kind == "reproduced"
    assert (
        next(one for one in verdict.facts if one.what == "settings").why
        == "with them, nothing like it happens"
    )
    assert verdict.run.case.system.min_score is None


def test_releases_that_take_no_lists_are_left_out() -> None:
    table = "| note | vector | bm25 |\n|---|---|---|\n| a.md | 0.61 | 0.1 |\n| memory/b.md | 0.55 | 0.9 |\n"
    verdict = tried(read_report(f"# Wrong result on top\nQuery: tea\n\n{table}\nmemory/b.md should be first"))
    assert (verdict.kind, verdict.run.case.memory.lists is not None) == ("stand-in", True)


def test_the_command_writes_the_case_and_a_reply(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = REPORTS["verygoodplugins/automem#73"]["text"].encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    out = tmp_path / "a.case.yaml"
    told = run("reproduce", "-", "--out", out)
    assert told.code == 0, told.err
    assert told.out.startswith("Reproduced: on am-205, something is returned although no note has an answer")
    assert "| question | `Alex Panagis` | line 2 |" in told.out
    shown = run("case", "run", out)
    assert (shown.code, "A known bug: as reported" in shown.out) == (1, True)
    (tmp_path / "r.md").write_bytes(text)
    again = run("reproduce", tmp_path / "r.md", "--out", out)
    assert (again.code, "exists already" in again.err) == (2, True)
    data = run("reproduce", tmp_path / "r.md", "--out", out, "--overwrite", "--json").json()
    assert (data["verdict"], load_case(Path(data["case"])).case.questions[0].question) == (
        "reproduced",
        "Alex Panagis",
    )


# Bad input

LOG = "2026-01-01 12:00:00 DEBUG nothing of interest in this line of a log\n" * 14_000
HOSTILE = """# Nothing <script>alert(1)</script>

Query: "tea\x1b[2J\u202e | `x`"
api_key=sk-abcdefgh12345678
"""


def read(text: str) -> Report:
    found = read_report(text)
    assert "sk-abcdefgh" not in str(found)
    return found


def test_scripts_secrets_and_long_logs_do_no_harm() -> None:
    assert read(HOSTILE).question.startswith("tea")
    assert read(f"# No hits\n\nQuery: kettle\n```\n{LOG}```\n").question == "kettle"
    after = read(f"# No hits\n```\n{LOG}```\nQuery: kettle\nExpected: memory/tea.md\n")
    assert (after.question, after.expected) == ("kettle", "memory/tea.md")
    assert read("tea " + "<pre>" * 100_000 + "<b><code>" * 100_000).question
    assert read("x" * 1_000_000).question == QUESTION
    assert read("(" * 100_000 + '"' * 100_000 + "search " * 50_000).question
    assert read("see ../../etc/passwd.md, which should be found").expected == MADE


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
    assert (found.question, found.happened) == (question, "missing")


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


def test_a_language_model_fills_blanks_alone_and_they_are_marked(model: str) -> None:
    Model.said = 'Here: {"question": "tide table", "happened": "order", "expected": "/etc/passwd"}'
    text = "# It went badly\nMinScore 0.2\napi_key=sk-abcdefgh12345678\n"
    found = read_report(text, told(text, model))
    assert (found.question, found.happened, found.expected) == ("tide table", "order", MADE)
    assert found.fact("question").description == "assumed: small at 127.0.0.1 filled this blank"
    assert "sk-abcdefgh" not in Model.asked[-1]
    assert read_report("# No results\nQuery: kettle", told("", model)).question == "kettle"


@pytest.mark.parametrize("said", ["I cannot say.", "{bad}", "[]"])
def test_a_model_that_says_no_object_is_an_error(said: str, model: str) -> None:
    Model.said = said
    with pytest.raises(ProviderError, match="The judge small failed"):
        told("# It went badly", model)


@pytest.mark.parametrize("judge", ["small", "@http://a", "small@file:///a", "small@http://me:pw@host"])
def test_a_judge_without_a_model_or_an_address_is_refused(judge: str) -> None:
    with pytest.raises(InputError):
        told("# It went badly", judge)


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
    assert (found.question, found.expected, found.happened) == (
        answers["question"],
        "memory/tea.md",
        happened,
    )
    assert (found.system, found.settings) == ("openclaw-2026.3.7", {"min_score": "0.2", "limit": "3"})
    assert [(one.path, one.whole) for one in found.notes] == [
        ("memory/tea.md", "A cup of tea."),
        ("memory/hub.md", "The hub grinds."),
    ]
    assert [one.name for one in found.results] == ["memory/a.md"]
