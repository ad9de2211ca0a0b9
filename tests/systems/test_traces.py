"""Spans as runs: what real instrumentations wrote, and exports in the forms of Phoenix and Langfuse."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.commands import Run
from tests.conftest import PROJECT
from workbench_plugins.cases.model import load_case
from workbench_plugins.cases.running import run_case
from workbench_plugins.runs.traces import TracedRuns, read_traces

LANGCHAIN = PROJECT / "tests" / "records" / "langchain_spans.json.gz"
"""OTLP of three questions to an EnsembleRetriever: openinference-instrumentation-langchain 0.1.80."""
DOCUMENTS = {"retrieval.documents.0.document.id": "a.md", "retrieval.documents.0.document.score": 0.9}
KIND = "openinference.span.kind"


def genai(documents: Any) -> dict[str, Any]:
    """A span of OTLP by the conventions of OpenTelemetry, with its documents in this form."""
    named = {
        "gen_ai.operation.name": {"stringValue": "retrieval"},
        "gen_ai.retrieval.query.text": {"stringValue": "tea"},
        "gen_ai.retrieval.documents": documents,
    }
    attributes = [{"key": name, "value": value} for name, value in named.items() if value]
    span = {"spanId": "1", "name": "retrieval notes", "attributes": attributes, "status": {}}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


AS_VALUES = [
    {
        "kvlistValue": {
            "values": [
                {"key": "id", "value": {"stringValue": id_}},
                {"key": "score", "value": {"doubleValue": score}},
            ]
        }
    }
    for id_, score in (("a.md", 0.9), ("b.md", 0.5))
]
PHOENIX = {"name": "near", "span_kind": "RETRIEVER", "context.span_id": "1", "attributes.input.value": "tea"}
FORMS: dict[str, Any] = {
    "gen_ai as JSON": genai({"stringValue": '[{"id": "a.md", "score": 0.9}, {"id": "b.md", "score": 0.5}]'}),
    "gen_ai as values": genai({"arrayValue": {"values": AS_VALUES}}),
    "Phoenix, a table": [
        PHOENIX | {
            f"attributes.{KIND}": "RETRIEVER",
            "attributes.retrieval.documents": [
                {"document.id": "a.md", "document.score": 0.9},
                {"document.id": "b.md", "document.score": 0.5},
            ],
        }
    ],
    "Phoenix, a table by column": {
        name: {"0": value}
        for name, value in {
            **PHOENIX,
            f"attributes.{KIND}": "RETRIEVER",
            "attributes.retrieval.documents": [
                {"document.id": "a.md", "document.score": 0.9},
                {"document.id": "b.md", "document.score": 0.5},
            ],
        }.items()
    },
    "Langfuse, an output as JSON": {
        "id": "1",
        "type": "RETRIEVER",
        "name": "near",
        "input": "tea",
        "output": '{"documents": [{"id": "a.md", "score": 0.9}, {"id": "b.md", "score": 0.5}]}',
    },
    "Phoenix, its API": {
        "data": [
            {
                "name": "near", "context": {"span_id": "1"}, "status_code": "OK",
                "attributes": {
                    KIND: "RETRIEVER", "input.value": '{"query": "tea"}', **DOCUMENTS,
                    "retrieval.documents.1.document.metadata": '{"source": "b.md"}',
                    "retrieval.documents.1.document.score": 0.5,
                },
            }
        ]
    },
    "Langfuse": {
        "id": "t",
        "observations": [
            {
                "id": "1", "type": "RETRIEVER", "name": "near", "input": {"query": "tea"}, "level": "DEFAULT",
                "output": [{"id": "a.md", "score": 0.9}, {"metadata": {"path": "b.md"}, "score": 0.5}],
            }
        ],
    },
}  # fmt: skip


def read(tmp_path: Path, value: Any) -> TracedRuns:
    (tmp_path / "spans.json").write_text(json.dumps(value), encoding="utf-8")
    return read_traces(tmp_path)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_an_export_is_read(form: str, tmp_path: Path) -> None:
    found = read(tmp_path, FORMS[form])
    (one,) = found.retrievals
    assert (one.question, one.results) == ("tea", (("a.md", 0.9), ("b.md", 0.5)))
    assert found.runs[0].returned("1") == ["a.md", "b.md"]


def test_printed_spans_are_read_and_a_span_in_two_files_counts_once(tmp_path: Path) -> None:
    one, other = ({**FORMS["Langfuse, an output as JSON"], "id": id_} for id_ in "12")
    (tmp_path / "printed.json").write_text(json.dumps(one, indent=2) + "\n" + json.dumps(other, indent=2))
    assert len(read(tmp_path, [one]).retrievals) == 2


SOUND = FORMS["Langfuse"]["observations"][0]
ODD = [
    {"attributes": {"openinference.span.kind": "RETRIEVER", "retrieval.documents.0.document.score": "x"}},
    {"type": "RETRIEVER", "output": [{"id": "a", "score": []}]},
    {"type": "RETRIEVER", "attributes": [{"key": "a", "value": {"arrayValue": 5}}]},
    {"type": "RETRIEVER", "attributes": [{"key": "a", "value": {"kvlistValue": {"values": [1]}}}]},
    {"type": "RETRIEVER", "name": "\ud800", "output": [{"id": "a"}]},
    {"type": "RETRIEVER", "output": [{"id": "a", "score": 1e999}]},
    {"attributes": [{"key": [], "value": {}}], "type": "RETRIEVER"},
]


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_span_is_left_out_and_counted(odd: Any, tmp_path: Path) -> None:
    found = read(tmp_path, [SOUND, odd])
    assert ([one.id for one in found.retrievals], found.left_out) == (["1"], 1)
    assert "Spans and lines that were left out, since they cannot be read: 1." in found.view()


def test_an_odd_line_is_left_out_and_counted(tmp_path: Path) -> None:
    (tmp_path / "spans.jsonl").write_text("\n".join([json.dumps(SOUND), "{", '"x"', "[" * 10_000]) + "\n")
    found = read_traces(tmp_path)
    assert (len(found.retrievals), found.left_out) == (1, 3)
    deep: Any = [SOUND]
    for _ in range(400):
        deep = [deep]
    assert len(read(tmp_path, [SOUND, deep]).retrievals) == 1


def test_real_spans_of_langchain_are_runs(tmp_path: Path) -> None:
    file = tmp_path / "spans.json"
    file.write_bytes(gzip.decompress(LANGCHAIN.read_bytes()))
    found = read_traces(tmp_path)
    assert [str(one) for one in found.runs] == [
        "BM25Retriever: 3 questions, 9 results",
        "EnsembleRetriever: 3 questions, 9 results",
        "VectorStoreRetriever: 3 questions, 6 results",
    ]


def test_a_reranker_keeps_the_rank_before_it(tmp_path: Path) -> None:
    lists = {"input": ["a.md", "b.md"], "output": ["b.md"]}
    documents = {
        f"reranker.{what}_documents.{place}.document.id": id_
        for what, ids in lists.items() for place, id_ in enumerate(ids)
    }  # fmt: skip
    attributes = {KIND: "RERANKER", "reranker.query": "tea", **documents}
    (made,) = read(tmp_path, {"name": "rerank", "id": "1", "attributes": attributes}).runs
    assert made.ranking("1").parts["rank before"].tolist() == [2.0]


def test_the_worst_retrieval_comes_first_and_is_given_its_reason(run: Run, tmp_path: Path) -> None:
    spans = [
        {"id": str(place), "name": "near", "status": {"status_code": status},
         "attributes": {KIND: "RETRIEVER", "input.value": question, **documents}}
        for place, (question, status, documents) in enumerate([
            ("good", "OK", DOCUMENTS), ("usual", "OK", DOCUMENTS), ("down", "ERROR", {}), ("empty", "OK", {}),
            ("weak", "OK", DOCUMENTS | {"retrieval.documents.0.document.score": 0.3}),
        ])
    ]  # fmt: skip
    found = read(tmp_path, spans)
    assert [(one.question, why) for one, why in found.worst][:4] == [
        ("down", "error"), ("empty", "no document"), ("weak", "best score 0.3, usually 0.9"),
        ("good", "best score 0.9, usually 0.9"),
    ]  # fmt: skip
    ran = run("runs", "traces", str(tmp_path), "--out", str(tmp_path / "runs"))
    assert ran.code == 1
    assert [one.name for one in (tmp_path / "runs").iterdir()] == ["1-near.jsonl"]
    assert ran.out.splitlines()[-1].endswith(": workbench case new down --target FILE -m FOLDER")


@pytest.mark.parametrize(
    ("value", "description"),
    [
        (genai(None), "has 1 retrieval span, and none has documents"),
        ({"name": "chat", "attributes": {KIND: "LLM"}}, "has 1 span, and none is a retrieval"),
    ],
)
def test_spans_without_documents_are_one_sentence(value: Any, description: str, tmp_path: Path) -> None:
    with pytest.raises(wb.InputError, match=description):
        read(tmp_path, value)


def test_a_row_becomes_a_case_that_gives_the_recorded_answer(run: Run, tmp_path: Path) -> None:
    spans = tmp_path / "spans.json"
    spans.write_bytes(gzip.decompress(LANGCHAIN.read_bytes()))
    rows = [one for one, _ in read_traces(spans).worst]
    row = next(number for number, one in enumerate(rows, 1) if one.name == "EnsembleRetriever")
    listed = run("runs", "traces", str(spans)).out
    assert f"--row {row} --target ID --case NAME.case.yaml" in listed.replace("\n", " ")

    file = tmp_path / "row.case.yaml"
    last = rows[row - 1].results[-1][0]
    made = run("runs", "traces", str(spans), "--row", str(row), "--target", last, "--case", str(file))
    assert made.code == 0
    case = load_case(file).case
    assert case.questions[0].question == rows[row - 1].question
    (answer,) = run_case(case).answers
    assert answer.trace.paths() == [id_ for id_, _ in rows[row - 1].results]
    assert run("case", "run", str(file)).code == 0

    inside = next(number for number, one in enumerate(rows, 1) if one.parent == rows[row - 1].id)
    again = run(
        "runs", "traces", str(spans), "--row", str(inside), "--target", last, "--case", str(file), "--force"
    )
    assert again.code == 0
    assert load_case(file).case.questions[0].question == case.questions[0].question


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--row", "99", "--target", "tea.md"], "There is no row 99."),
        (["--row", "1"], "A case expects a document in the answer."),
        (["--row", "1", "--target", "moon.md"], "brought moon.md, so a case of its lists cannot find it"),
        (["--row", "1", "--target", "tea.md", "--keyword", "Other"], "do not say which of the two"),
    ],
)
def test_a_case_that_cannot_be_made_of_a_row_is_refused(
    run: Run, tmp_path: Path, options: list[str], problem: str
) -> None:
    spans = tmp_path / "spans.json"
    spans.write_bytes(gzip.decompress(LANGCHAIN.read_bytes()))
    refused = run("runs", "traces", str(spans), "--case", str(tmp_path / "a.case.yaml"), *options)
    assert refused.code == 2
    assert problem in refused.err
    assert not (tmp_path / "a.case.yaml").exists()


def test_a_lone_retrieval_is_no_case_of_lists(run: Run, tmp_path: Path) -> None:
    spans = tmp_path / "spans.json"
    spans.write_text(json.dumps(FORMS["gen_ai as JSON"]), encoding="utf-8")
    refused = run("runs", "traces", str(spans), "--target", "a.md", "--case", str(tmp_path / "a.case.yaml"))
    assert "has no two retrievals inside that were recorded" in refused.err
    assert "workbench case new tea --target a.md -m FOLDER" in refused.err
