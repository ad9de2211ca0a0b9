"""Reads retrieval spans of OpenTelemetry as runs: exports of Phoenix and Langfuse, OTLP as JSON (lines).

And the searches in a log of an agent's conversation over MCP (see `conversations`).

A span is a retrieval by OpenTelemetry's conventions for generative AI (`gen_ai.operation.name` is
`retrieval`) or by OpenInference's (`openinference.span.kind` is RETRIEVER or RERANKER). Sources:
open-telemetry/semantic-conventions-genai, docs/gen-ai/gen-ai-spans.md; Arize-ai/openinference,
spec/semantic_conventions.md; Langfuse's observations of the type RETRIEVER.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

from workbench.errors import InputError
from workbench.masking import masked
from workbench.memory.files import content_hash, is_utf8, read_input
from workbench.records import Shown
from workbench.safe_text import counted
from workbench.tables import Column, Line, Part, Table, hanging, numbers
from workbench_plugins.runs.conversations import searches_in
from workbench_plugins.runs.json_values import loaded
from workbench_plugins.runs.run_files import LARGEST_DOCUMENT, number, result_of, write_json
from workbench_plugins.runs.runs import Run

KINDS = {"RETRIEVER": "retriever", "RERANKER": "reranker", "retrieval": "retriever"}
DOCUMENT = re.compile(
    r"(retrieval\.documents|gen_ai\.retrieval\.documents|reranker\.(?:in|out)put_documents)"
    r"\.(\d+)\.(?:document\.)?(.+)"
)
QUESTIONS = ("gen_ai.retrieval.query.text", "reranker.query", "input.value")
LISTS = ("resourceSpans", "scopeSpans", "spans", "data", "observations")
SPACE = re.compile(r"\s*")
OPT_IN = (
    "Let the instrumentation record them: gen_ai.retrieval.documents is opt-in, and OpenInference leaves "
    "them out with OPENINFERENCE_HIDE_OUTPUTS."
)
MOST_SHOWN = 20
DEEPEST = 100
ODD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a span of another form makes its reader raise."""


@dataclass(frozen=True)
class Retrieval:
    """One retrieval: what was asked, and what came back in its order, as (id, score); NaN without a score.

    `before` are the ids that a reranker was given. `id` is that of the span, `parent` of the one around it.
    `numbers` are what the answer of a tool says of each result: its `columns` by name.
    """

    id: str
    parent: str
    name: str
    kind: str
    question: str
    failed: bool
    results: tuple[tuple[str, float], ...]
    before: tuple[str, ...] = ()
    numbers: tuple[Mapping[str, float], ...] = ()

    @property
    def best(self) -> float:
        """The score of the first result; NaN without one."""
        return self.results[0][1] if self.results else math.nan


@dataclass(frozen=True, repr=False)
class TracedRuns(Shown):
    """Retrievals by their engine, and in the order of how bad they look; `spans` counts all spans read.

    `left_out` counts the spans, and the lines of files, that cannot be read. `file` is what was read.

    The order: errors, then empty answers, then the share of the engine's median best score that the best
    score lacks. An engine whose scores rise in its lists gives distances, and the share is that in excess.
    """

    spans: int
    retrievals: tuple[Retrieval, ...]
    runs: tuple[Run, ...] = field(default=())
    left_out: int = 0
    file: str = ""

    @property
    def worst(self) -> list[tuple[Retrieval, str]]:
        """The retrievals with the reason of their place, the worst first."""
        usual = {name: _usual(list(some)) for name, some in _by_name(self.retrievals)}
        ranked = sorted(
            ((_badness(one, *usual[one.name]), one) for one in self.retrievals),
            key=lambda pair: (pair[0][0], -pair[0][1], pair[1].question, pair[1].id),
        )
        return [(one, why) for (_, _, why), one in ranked]

    def view(self) -> list[Part]:
        """The runs, what worst means, and the worst retrievals."""
        rows = [
            (str(number), masked(one.question)[:60], one.name, str(len(one.results)), why)
            for number, (one, why) in enumerate(self.worst[:MOST_SHOWN], 1)
        ]
        description = (
            "Worst first: an error, then no document, then the best score that is furthest below its "
            "retriever's median. Nothing here knows which document is right: give labels to workbench runs "
            "compare."
        )
        retriever, documents = Column("retriever", "whole"), numbers("documents")
        table = Table("", [*numbers("#"), "question", retriever, *documents, "why"], rows)
        odd = f"Spans and lines that were left out, since they cannot be read: {self.left_out:,}."
        left_out = [odd] if self.left_out else []
        return [*map(str, self.runs), *left_out, Line(description, "dim"), table, *self._next()]

    def _next(self) -> list[Part]:
        """The commands that make cases of the worst retrievals: of what was recorded, and of notes."""
        rows = [one for one, _ in self.worst]
        asked = next((" ".join(one.question.split()) for one in rows if one.question.strip()), "")
        inside = Counter(one.parent for one in rows if one.kind == "retriever")
        both = next((number for number, one in enumerate(rows, 1) if inside[one.id] == 2), 0)
        lines: list[Part] = []
        if both and self.file:
            command = f"workbench runs traces {shlex.quote(self.file)} --row {both} --target ID"
            command += " --case NAME.case.yaml"
            lines.append(hanging(f"A case of row {both} as it was recorded (ID answers it): {command}"))
        if asked:
            named = shlex.quote(asked) if masked(asked) == asked else "QUESTION"
            command = f"workbench case new {named} --target FILE -m FOLDER"
            lines.append(hanging(f"A case of the first (FILE answers it, FOLDER has the notes): {command}"))
        return ["", *lines] if lines else []

    def as_json(self) -> dict[str, Any]:
        """The runs and the retrievals, the worst first, as JSON."""
        worst = [
            {
                "question": one.question,
                "retriever": one.name,
                "kind": one.kind,
                "span": one.id,
                "results": len(one.results),
                "best": None if math.isnan(one.best) else one.best,
                "why": why,
            }
            for one, why in self.worst
        ]
        runs = [str(run) for run in self.runs]
        return {"spans": self.spans, "runs": runs, "worst": worst, "left_out": self.left_out}


def _by_name(some: Iterable[Retrieval]) -> Iterator[tuple[str, Iterator[Retrieval]]]:
    return groupby(sorted(some, key=lambda one: one.name), lambda one: one.name)


def _usual(some: Sequence[Retrieval]) -> tuple[float, bool]:
    """The median of the best scores of an engine, and whether its scores are distances."""
    best = [one.best for one in some if not math.isnan(one.best)]
    rising = [one.results[0][1] < one.results[-1][1] for one in some if len(one.results) > 1]
    return median(best) if best else math.nan, bool(rising) and all(rising)


def _badness(one: Retrieval, usual: float, distances: bool) -> tuple[int, float, str]:
    if one.failed:
        return 0, 0.0, "error"
    if not one.results:
        return 1, 0.0, "no document"
    if math.isnan(one.best) or not usual:
        return 3, 0.0, "no score"
    lacks = (one.best - usual if distances else usual - one.best) / abs(usual)
    what = "distance" if distances else "score"
    return 2, lacks, f"best {what} {one.best:.4g}, usually {usual:.4g}"


def read_traces(path: str | os.PathLike[str]) -> TracedRuns:
    """The retrievals in a file or folder of spans (*.json, *.jsonl), and a run for each engine.

    Spans and lines that cannot be read are left out. Raises InputError for a file without JSON, for a folder
    without spans, for spans of which none is a retrieval, and for retrievals that have no document at all.
    """
    files = (
        sorted(one for one in Path(path).rglob("*.json*") if one.is_file()) if Path(path).is_dir() else [path]
    )
    spans: list[Mapping[str, Any]] = []
    known: dict[str, Retrieval] = {}  # exports may share spans
    left_out = 0
    for file in files:
        values, broken = _read(file)
        left_out += broken
        spans += [*searches_in(values)] or _spans(values)
    for span in spans:
        try:
            one = _retrieval(span)
        except ODD:
            left_out += 1
            continue
        if one is not None:
            known[one.id] = one
    found = [*known.values()]
    if not found:
        raise InputError(
            f"{path} has {counted(len(spans), 'span')}, and none is a retrieval.",
            "Export spans of the operation retrieval (gen_ai), or of the kinds RETRIEVER and RERANKER. Or "
            "log an agent's messages over MCP.",
        )
    if not any(one.results for one in found):
        raise InputError(
            f"{path} has {counted(len(found), 'retrieval span')}, and none has documents.", OPT_IN
        )
    runs = tuple(_run(name, some) for name, some in _by_name(found))
    return TracedRuns(len(spans), tuple(found), runs, left_out, os.fspath(path))


def _run(name: str, some: Iterable[Retrieval]) -> Run:
    run = Run(name)
    for one in some:
        run.question(one.id, one.question)
        for rank, (id_, score) in enumerate(one.results, 1):
            parts = {"rank before": 1.0 + one.before.index(id_)} if id_ in one.before else None
            parts = dict(one.numbers[rank - 1]) if one.numbers else parts
            run.add(one.id, id_, score, rank, parts=parts)
    return run


def _read(file: str | os.PathLike[str]) -> tuple[list[Any], int]:
    """The JSON values of a file, one or many, and how many of its lines are none."""
    text = read_input(file, "The file of spans", LARGEST_DOCUMENT).removeprefix("\ufeff").strip()
    found, end, decoder = [], 0, json.JSONDecoder()
    try:
        while end < len(text):
            value, end = decoder.raw_decode(text, end)
            found.append(value)
            end = SPACE.match(text, end).end()  # type: ignore[union-attr]
    except (ValueError, RecursionError) as error:
        lines = [line for line in text.splitlines() if line.strip()]
        found = [value for line in lines if (value := _json(line)) is not None]
        if not found:
            raise InputError(
                f"{file} is neither JSON nor JSON lines: {error}.", "Export the spans as JSON."
            ) from None
        return found, len(lines) - len(found)
    return found, 0


def _json(line: str) -> Any:
    """The object or list of a line, also behind `data:` of an event; None for a line without one."""
    with suppress(ValueError, RecursionError):
        value = json.loads(line.strip().removeprefix("data:"))
        return value if isinstance(value, Mapping | list) else None
    return None


def _spans(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """The spans within a document: OTLP nests them, and exports list them. Nothing is read DEEPEST down."""
    if depth > DEEPEST:
        return
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, list):
            yield from _spans(one, depth + 1)
        elif isinstance(one, Mapping):
            inner = [one[name] for name in LISTS if isinstance(one.get(name), list)]
            # A data frame, as pandas writes it by column.
            if "name" in one and all(isinstance(cells, Mapping) for cells in one.values()):
                inner = [[{key: cells.get(row) for key, cells in one.items()} for row in one["name"]]]
            for some in inner:
                yield from _spans(some, depth + 1)
            if not inner:
                yield one


def _retrieval(span: Mapping[str, Any]) -> Retrieval | None:
    known = _attributes(span)
    kind = known.get("openinference.span.kind") or known.get("gen_ai.operation.name") or span.get("type")
    if kind not in KINDS:
        return None
    status = span.get("status")
    code = status.get("code", status.get("status_code")) if isinstance(status, Mapping) else status
    given = span.get("context")
    context: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    ids = (span.get("spanId"), context.get("span_id"), span.get("context.span_id"), span.get("id"))
    parents = (span.get("parentSpanId"), span.get("parent_id"), span.get("parentObservationId"))
    reranks = KINDS[str(kind)] == "reranker"
    question = next((known[name] for name in QUESTIONS if known.get(name)), span.get("input"))
    status = str(code or span.get("status_code") or span.get("level")).upper()
    results = "reranker.output_documents" if reranks else "retrieval.documents"
    retrieval = Retrieval(
        id=str(next((one for one in ids if one), content_hash(repr(span))[:16])),
        parent=str(next((one for one in parents if one), "")),
        name=str(span.get("name") or kind),
        kind=KINDS[str(kind)],
        question=_question(question),
        failed=status.endswith(("ERROR", "2")),
        results=tuple(_documents(known, results, span)),
        before=tuple(id_ for id_, _ in _documents(known, "reranker.input_documents", {})),
        numbers=_numbers(span),
    )
    texts = (
        retrieval.id,
        retrieval.parent,
        retrieval.name,
        retrieval.question,
        *(one for one, _ in retrieval.results),
    )
    if not all(map(is_utf8, texts)) or any(math.isinf(score) for _, score in retrieval.results):
        raise ValueError("it has a text that is not UTF-8, or an infinite score")
    return retrieval


def _question(given: Any) -> str:
    """The question as text; some instrumentations write an object with it as JSON."""
    held = loaded(given)
    if isinstance(held, Mapping):
        given = next((held[name] for name in ("query", "question", "input", "query_str") if name in held), "")
    return str(given or "")


def _documents(known: Mapping[str, Any], what: str, span: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The documents of a list, in its order, with their scores; of Langfuse, those of its output."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in known.items():
        match = DOCUMENT.fullmatch(name)
        if match and match[1].removeprefix("gen_ai.") == what:
            found.setdefault(int(match[2]), {})[match[3]] = value
    output = loaded(span.get("output"))
    if isinstance(output, Mapping):  # such as {"documents": [...]}
        output = next((one for one in output.values() if isinstance(one, list)), [])
    rows = [found[number] for number in sorted(found)] or (output if isinstance(output, list) else [])
    for row in rows:
        if isinstance(row, Mapping):
            yield _document(row)


def _numbers(span: Mapping[str, Any]) -> tuple[Mapping[str, float], ...]:
    """The numbers of each result by name, for a search of an agent that asked for them."""
    output = span.get("output")
    rows = output if isinstance(output, list) and all(isinstance(one, Mapping) for one in output) else []
    found = [one.get("numbers") for one in rows]
    if not found or not all(isinstance(one, Mapping) for one in found):
        return ()
    return tuple({str(name): float(value) for name, value in one.items()} for one in found)


def _document(row: Mapping[str, Any]) -> tuple[str, float]:
    """The id that the metadata or the document give, or one made of its text; and its score."""
    metadata = loaded(row.get("metadata"))
    beside = {name[9:]: value for name, value in row.items() if name.startswith("metadata.")}
    text = row.get("content") or row.get("page_content") or row.get("pageContent") or ""
    score = number(row.get("score"))
    given = {"metadata": metadata if isinstance(metadata, Mapping) else beside, "id": row.get("id")}
    try:
        return result_of(given)[0], score
    except ValueError:
        return f"text-{content_hash(str(text))[:12]}", score


def _attributes(span: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a span by their dotted names, however an export nests them."""
    given = span.get("attributes")
    if isinstance(given, list):  # OTLP: keys with typed values
        given = {
            one["key"]: _value(one.get("value")) for one in given if isinstance(one, Mapping) and "key" in one
        }
    metadata = span.get("metadata")
    if given is None and isinstance(metadata, Mapping):
        given = metadata.get("attributes")
    columns = {name[11:]: value for name, value in span.items() if name.startswith("attributes.")}
    return dict(_flat("", {**(given if isinstance(given, Mapping) else {}), **columns}))


def _value(value: Any) -> Any:
    """A typed value of OTLP as a plain one."""
    if not isinstance(value, Mapping) or not value:
        return None
    (kind, inner), *_ = value.items()
    if kind == "arrayValue":
        return [_value(one) for one in inner.get("values", [])]
    if kind == "kvlistValue":
        return {one["key"]: _value(one.get("value")) for one in inner.get("values", [])}
    return inner


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Nested values with dots between their names; documents that are written as JSON are read."""
    if name.endswith(("_documents", "retrieval.documents")):
        value = loaded(value)
    inner = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else None
    )
    if inner is None:
        yield name, value
        return
    for key, one in inner:
        yield from _flat(f"{name}.{key}" if name else str(key), one)


def write_runs(found: TracedRuns, folder: Path, force: bool = False) -> list[Path]:
    """Writes each run as JSON lines into a folder; returns the files."""
    files = []
    for nth, run in enumerate(found.runs, 1):
        name = re.sub(r"[^\w.-]+", "-", run.name).strip("-.") or "run"
        files.append(folder / f"{nth}-{name}.jsonl")
        write_json(run, files[-1], force)
    return files
