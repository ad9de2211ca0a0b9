"""Searches in the log of an agent's conversation over MCP, as the spans that `traces` reads.

A log has the messages of JSON-RPC 2.0 in their order, one a line or nested in other objects: over stdio as
they are, over HTTP also as events (`data: …`). A call of a tool is a search if its answer has results with
a path or an id. Source: modelcontextprotocol.io, specification 2025-06-18, server/tools.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.retrieval.legs import KeywordLeg, VectorLeg
from workbench_plugins.runs.json_values import loaded

DEEPEST = 20
LEGS = (VectorLeg.name, KeywordLeg.name)
Message = Mapping[str, Any]


def searches_in(values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """A span for each search in some JSON values, and one for each leg whose list the answer has whole.

    A leg's list is whole if the `columns` of the results rank it from 1 without a gap.
    """
    asked: dict[Any, Message] = {}
    number = 0
    for message in _messages(values):
        id_ = str(message.get("id"))
        if message.get("method") == "tools/call":
            asked[id_] = message
        elif ("result" in message or "error" in message) and id_ in asked:
            number += 1
            yield from _spans(asked.pop(id_), message, f"call-{number}")


def _messages(value: Any, depth: int = 0) -> Iterator[Message]:
    """The messages of JSON-RPC within a value."""
    if isinstance(value, Mapping) and "jsonrpc" in value:
        yield value
    elif depth < DEEPEST and isinstance(value, Mapping | list):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _messages(loaded(one), depth + 1)


def _spans(call: Message, answer: Message, id_: str) -> Iterator[dict[str, Any]]:
    params = call.get("params") or {}
    arguments, result = params.get("arguments") or {}, answer.get("result") or {}
    found = result.get("structuredContent") or _first_text(result)
    rows = found.get("results") if isinstance(found, Mapping) else None
    failed = "error" in answer or bool(result.get("isError"))
    question = arguments.get("query") or arguments.get("question")
    if not question or not (failed or isinstance(rows, list)):
        return
    kept = [one for one in rows or () if isinstance(one, Mapping)]
    named = {"type": "RETRIEVER", "input": question, "level": "ERROR" if failed else "DEFAULT"}
    output = [{"id": _id(one), "score": one.get("score"), "numbers": one.get("columns")} for one in kept]
    yield {**named, "id": id_, "name": str(params.get("name")), "output": output}
    for leg in LEGS:
        if listed := _whole_list(kept, leg):
            inside = {"id": f"{id_}-{leg}", "parentSpanId": id_, "name": f"{leg} leg", "output": listed}
            yield {**named, **inside}


def _first_text(result: Message) -> Any:
    """What the first text of an answer holds, for a server without structured content."""
    content = result.get("content")
    first = content[0] if isinstance(content, list) and content else None
    return loaded(first.get("text")) if isinstance(first, Mapping) else None


def _id(row: Message) -> Any:
    return row.get("path") or row.get("id") or row.get("permalink")


def _whole_list(rows: Sequence[Message], leg: str) -> list[dict[str, Any]]:
    """The results by their rank in a leg; empty unless the ranks are 1, 2, 3 and so on."""
    ranked = []
    for row in rows:
        given = row.get("columns")
        columns: Message = given if isinstance(given, Mapping) else {}
        rank = columns.get(f"{leg}_rank")
        if isinstance(rank, int | float) and math.isfinite(rank):
            ranked.append((rank, {"id": _id(row), "score": columns.get(f"{leg}_score")}))
    ranked.sort(key=lambda one: one[0])
    return [row for _, row in ranked] if [rank for rank, _ in ranked] == [*range(1, len(ranked) + 1)] else []
