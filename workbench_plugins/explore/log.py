"""A log of real questions: read from JSONL or from OpenClaw's transcripts, and sorted worst first.

A line has a question and, if they are known, the file that answers it and the scores that it got:
`{"question": "…", "expected": "memory/tea.md", "scores": [0.41, 0.36]}`. Of a transcript, the questions are
the queries of `memory_search`, with the scores of its results; without any, they are the user's messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

from workbench.contracts import Index
from workbench.errors import InputError
from workbench.progress import progress_bar
from workbench.records import Trace, first_of
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import check_question

QUESTION_KEYS = ("question", "query", "text")
FILE_KEYS = ("expected", "target", "file")
MOST = 2_000
"""Questions of a log that are asked; the first ones."""
ENVELOPE = re.compile(r"^\[[^\]]{1,200}\]|\[message_id:[^\]]{0,200}\]$")
"""The sender and the time that a channel of OpenClaw writes around a message."""

WORST = (
    "Worst first: questions whose expected file is lost, the deepest first; then those without an expected "
    "file, by how far the best result is above the floor (nothing returned comes first); then those whose "
    "expected file is returned, the last place first."
)


@dataclass(frozen=True)
class Asked:
    """A question of a log; `scores` are those that the log has, best first, and None if it has none."""

    question: str
    expected: str | None = None
    scores: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Judged:
    """A question with what a system does with it; `key` sorts the worst first."""

    asked: Asked
    key: tuple[float, float, float]
    sentence: str


def read_log(files: Mapping[str, str]) -> tuple[list[Asked], list[str]]:
    """The questions of the files' texts, each once, and what was left out, as sentences.

    Raises InputError if there is no question in them.
    """
    found: dict[tuple[str, str | None], Asked] = {}
    notes = []
    for name, text in files.items():
        asked, broken = _read(text)
        for one in asked:
            found.setdefault((one.question, one.expected), one)
        if broken:
            notes.append(f"{name}: {_left_out(broken)}")
    if not found:
        raise InputError(
            f"No question in {', '.join(files) or 'the log'}.",
            'A line looks like {"question": "rooibos tea"}.',
        )
    if len(found) > MOST:
        notes.append(f"Asked are the first {MOST:,} of {len(found):,} questions.")
    return list(found.values())[:MOST], notes


def _left_out(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"left out line {numbers[0]}: it has no question that can be asked."
    lines = ", ".join(map(str, numbers[:5])) + (" …" if len(numbers) > 5 else "")
    return f"left out {len(numbers)} lines without a question that can be asked: {lines}."


def _read(text: str) -> tuple[list[Asked], list[int]]:
    """The questions of one file, and the numbers of the lines that have none and should."""
    asked, said, broken, calls = list[Asked](), list[Asked](), list[int](), dict[str, Asked]()
    for number, line in enumerate(text.split("\n"), 1):
        try:
            record: Any = json.loads(line) if line.strip() else {"type": "blank"}
            match record:
                case {"type": "message", "message": {"role": str(), "content": _} as message}:
                    said += _typed(message)
                    calls |= _searches(message, calls)
                case {"type": str()} if not any(key in record for key in QUESTION_KEYS):
                    pass  # another record of a transcript
                case _:
                    asked.append(_of_line(record))
        except (ArithmeticError, TypeError, ValueError, RecursionError, InputError):
            broken.append(number)
    return [*asked, *(calls.values() or said)], broken


def _of_line(record: Any) -> Asked:
    """The question of a line of a log. Raises InputError, or ValueError, for a line without one."""
    line = {"question": record} if isinstance(record, str) else record
    if not isinstance(line, dict):
        raise ValueError("no object")
    question = next((line[key] for key in QUESTION_KEYS if isinstance(line.get(key), str)), "")
    expected = next((line[key] for key in FILE_KEYS if line.get(key)), None)
    if not isinstance(expected, str | None):
        raise ValueError("no file")
    return Asked(check_question(question), expected, _scores(line.get("scores", line.get("score"))))


def _scores(value: Any) -> tuple[float, ...] | None:
    if value is None:
        return None
    some = value if isinstance(value, list) else [value]
    return tuple(sorted(map(float, some), reverse=True))


def _blocks(message: Mapping[str, Any]) -> list[Any]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [one for one in blocks if isinstance(one, dict)] if isinstance(blocks, list) else []


def _typed(message: Mapping[str, Any]) -> Iterator[Asked]:
    """What a user wrote, if it can be asked."""
    text = " ".join(one["text"] for one in _blocks(message) if isinstance(one.get("text"), str))
    if message["role"] == "user" and text.strip():
        yield Asked(check_question(ENVELOPE.sub("", text.strip()).strip()))


def _searches(message: Mapping[str, Any], calls: Mapping[str, Asked]) -> dict[str, Asked]:
    """The searches of the memory that a message has or answers, by the name of the call."""
    match message:
        case {"role": "toolResult", "toolCallId": str(call)} if call in calls:
            text = "".join(str(one.get("text", "")) for one in _blocks(message))
            try:
                results = json.loads(text)["results"]
                scores = _scores([one["score"] for one in results])
            except (ArithmeticError, ValueError, KeyError, TypeError, RecursionError):
                return {}  # it failed, or was cut: the question stays without scores
            return {call: replace(calls[call], scores=scores)}
    found = {}
    for number, one in enumerate(_blocks(message)):
        match one:
            case {"type": "toolCall", "name": "memory_search", "arguments": {"query": str(query)}}:
                found[str(one.get("id", f"{len(calls)}.{number}"))] = Asked(check_question(query))
    return found


def logged(asked: Asked) -> str:
    """The scores of the log in words; empty if it has none."""
    if asked.scores is None:
        return ""
    return f"{len(asked.scores)}; best {asked.scores[0]:.4g}" if asked.scores else "nothing returned"


def worst_first(log: Iterable[Asked], pipeline: Pipeline, index: Index) -> list[Judged]:
    """What the pipeline does with each question, sorted as `WORST` says; ties by question."""
    bar = progress_bar(list(log), desc="asking", unit="question", delay=1)
    judged = [_judged(one, search(one.question, pipeline, index), pipeline, index) for one in bar]
    return sorted(judged, key=lambda one: (*one.key, one.asked.question))


def _judged(asked: Asked, trace: Trace, pipeline: Pipeline, index: Index) -> Judged:
    paths = [one.chunk.path for one in trace.results]
    if asked.expected in paths:
        rank = paths.index(asked.expected) + 1
        return Judged(asked, (2, -rank, 0), f"returned at place {rank} of {len(paths)}")
    if asked.expected:
        positions = [one.position for one in trace.candidates if one.chunk.path == asked.expected]
        fate = explain(trace, index, asked.expected).fate
        at = f" (position {positions[0]} of {len(trace.candidates)})" if positions else ""
        return Judged(asked, (0, -(positions[0] if positions else inf), 0), f"lost: {fate}{at}")
    margin, measure = _margin(trace, pipeline)
    if paths:
        return Judged(asked, (1, margin, 0), f"{len(paths)} returned; best {measure}")
    best = f"best {measure}" if measure else "no candidate"
    return Judged(asked, (1, -inf, margin), f"nothing returned; {best}")


def _margin(trace: Trace, pipeline: Pipeline) -> tuple[float, str]:
    """How far the best candidate is above the floor, or its score if there is no floor; and that in words."""
    floor = first_of(pipeline.stages, MinScore)
    column = floor.of if floor else trace.ranked_by
    values: Sequence[float] = [one for one in trace.columns.get(column, ()) if isfinite(one)]
    if not values:
        return -inf, ""
    best, name = max(values), column.replace("_", " ")
    if floor is None:
        return best, f"{name} {best:.4g}, no floor"
    return best - floor.floor, f"{name} {best:.4g}, floor {floor.floor:.4g}"
