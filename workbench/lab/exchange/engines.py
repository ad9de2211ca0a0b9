"""Reads one result in the form of an engine or library: its id, its score, and its sub-scores.

Sources: OpenSearch 3.5 documentation, hybrid search explain; Elasticsearch, RRFRankDoc.java; tobi/qmd, README
(`--explain`); LangChain's Document; LlamaIndex' NodeWithScore.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PATH_NAMES = ("path", "file_path", "source", "file", "file_name", "id")
"""Where metadata name a document, the best name first."""
IDS = ("id", "doc_id", "docid", "document", "path", "file", "_id")
SCORES = ("score", "relevance_score", "similarity", "_score")
RRF_RANK = re.compile(r"for rank \[(\d+)\] in query (.+?) computed")
NUMBERED = re.compile(r"at index \[(\d+)\]|^(\d+)$")


@dataclass(frozen=True)
class EngineResult:
    """One returned document."""

    id: str
    score: float
    parts: Mapping[str, float] = field(default_factory=dict)


def result_of(value: Any, id_field: str | None = None) -> EngineResult:
    """The result in a JSON value. `id_field` names where its id stands, such as `_source.path`.

    Raises ValueError, with the reason, for a value without an id or with a score that is not a number.
    """
    if isinstance(value, str):
        return EngineResult(value, math.nan)
    if isinstance(value, Sequence) and len(value) == 2:  # LangChain's pairs, and plain (id, score)
        found = result_of(value[0], id_field)
        return EngineResult(found.id, number(value[1]), found.parts)
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r:.60} is no result")
    return EngineResult(_id(value, id_field), _score(value), _parts(value))


def _id(value: Mapping[str, Any], id_field: str | None) -> str:
    if id_field is not None:
        found = at(value, id_field)
        if found is None:
            raise ValueError(f"a result has no field {id_field!r}; it has {', '.join(map(str, value))}")
        return plain_id(found)
    node = value.get("node")
    inner: Mapping[str, Any] = node if isinstance(node, Mapping) else value
    metadata = inner.get("metadata")
    if isinstance(metadata, Mapping):
        named = next((metadata[name] for name in PATH_NAMES if metadata.get(name)), None)
        if named is not None:
            return plain_id(named)
    if "explain" in value and value.get("file"):
        return plain_id(value["file"]).removeprefix("qmd://").partition("/")[2] or plain_id(value["file"])
    found = next((inner[name] for name in (*IDS, "id_") if inner.get(name) not in (None, "")), None)
    if found is None:
        raise ValueError(f"a result has no id; it has {', '.join(map(str, value)) or 'nothing'}")
    return plain_id(found)


def plain_id(value: Any) -> str:
    """The id as text. Raises ValueError for what is neither text nor a number."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"the id {value!r:.60} is neither text nor a number")
    return str(value)


def at(value: Any, dotted: str) -> Any:
    """What stands at a path such as `_source.path`; None if there is nothing."""
    for name in dotted.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _score(value: Mapping[str, Any]) -> float:
    metadata = value.get("metadata")
    places = (value, metadata) if isinstance(metadata, Mapping) else (value,)
    return next((number(place[name]) for place in places for name in SCORES if name in place), math.nan)


def number(value: Any) -> float:
    """A score; NaN for null. Raises ValueError for what is not a number."""
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"the score {value!r:.60} is not a number")
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"the score {value!r:.60} is not a number") from None


def _parts(value: Mapping[str, Any]) -> dict[str, float]:
    if isinstance(value.get("_explanation"), Mapping):
        return _explained(value["_explanation"])
    if isinstance(value.get("explain"), Mapping):
        return _qmd(value["explain"])
    named = value.get("scores")
    return {str(name): number(one) for name, one in named.items()} if isinstance(named, Mapping) else {}


def _qmd(explain: Mapping[str, Any]) -> dict[str, float]:
    """qmd's backend scores (the best of each backend), and the parts of its blend."""
    lists = {"keyword": explain.get("ftsScores"), "vector": explain.get("vectorScores")}
    parts = {name: max(map(number, some)) for name, some in lists.items() if isinstance(some, list) and some}
    rrf = explain.get("rrf")
    if isinstance(rrf, Mapping) and "totalScore" in rrf:
        parts["rrf"] = number(rrf["totalScore"])
    return parts | ({"rerank": number(explain["rerankScore"])} if "rerankScore" in explain else {})


def _explained(tree: Mapping[str, Any]) -> dict[str, float]:
    """The sub-queries of a hybrid search in Lucene's explanation: one part for each sub-query that matched.

    OpenSearch: the normalized score. Elasticsearch's RRF: the rank. Otherwise there are no parts.
    """
    if "combination of" in str(tree.get("description")):
        return {
            _leg(one, str(place)): number(one.get("value")) for place, one in enumerate(_details(tree), 1)
        }
    return {
        f"{_leg(one, match[2])}_rank": float(match[1])
        for one in _rank_details(tree)
        if (match := RRF_RANK.search(str(one.get("description"))))
    }


def _rank_details(tree: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The sub-queries of an RRF, which may stand one level deeper."""
    if "computed for initial ranks" in str(tree.get("description")):
        return _details(tree)
    return [inner for one in _details(tree) for inner in _rank_details(one)]


def _details(tree: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in tree.get("details") or [] if isinstance(one, Mapping)]


def _leg(tree: Mapping[str, Any], otherwise: str) -> str:
    """The kind of a sub-query: `keyword` for a weighted term, `vector` for nearest neighbours."""
    told = str(tree.get("details") or "")
    if "PerFieldSimilarity" in told or "weight(" in told:
        return "keyword"
    if "knn" in told.lower() or "vector" in told.lower():
        return "vector"
    match = NUMBERED.search(otherwise)
    return f"query {match[1] or match[2]}" if match else otherwise.strip(" []")
