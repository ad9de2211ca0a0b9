"""OpenClaw after February: releases 2026.2.15 to 2026.9.6."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np

from tests.adapters import Case, Given, adapts, adapts_every
from tests.adapters.openclaw_february import FixedIndex, content, merge_chunk
from tests.world import compiled
from workbench.memory.sources import utf16_length
from workbench.records import KEPT, Chunk, Stage, Trace
from workbench.retrieval.columns import Columns
from workbench.retrieval.cutoff import Limit, MinScore
from workbench.retrieval.pipeline import Running
from workbench.retrieval.scoring import ClampedRank, Relevance
from workbench_plugins.openclaw import keyword as words
from workbench_plugins.openclaw import ranking
from workbench_plugins.openclaw.keyword import HAN, WORDS, keywords
from workbench_plugins.openclaw.ranking import MMR, SpareSlots, UnspacedMMR, jaccard, mmr_score, pick
from workbench_plugins.openclaw.release_indexing import EntryChunker, WeightedChunker, weight
from workbench_plugins.openclaw.releases import FEBRUARY_15, SEPTEMBER

WINTER = ("2026.2.15", "2026.2.17", "2026.2.26", "2026.2.27", "2026.3.2")
SPRING = ("2026.3.7", "2026.3.13", "2026.7.1")
AUTUMN = ("2026.9.6",)
LATER = (*WINTER, *SPRING, *AUTUMN)


def only(given: Given, *keys: str) -> None:
    """Refuses an input that says more than the adapter reads."""
    if unknown := sorted(given.keys() - set(keys)):
        raise NotImplementedError(f"no adapter reads {', '.join(unknown)}")


def before_july(case: Case) -> bool:
    return case.version.startswith(WINTER)


def since_september(case: Case) -> None:
    if not case.version.startswith(AUTUMN):
        raise LookupError(f"no {case.group} of version {case.version!r}")


# Queries


@adapts("fts-query", *LATER)
def fts_query(given: Given) -> str | None:
    only(given, "raw")
    (stage,) = [stage for stage in FEBRUARY_15.stages if stage.slot == "query"]
    return compiled(stage.query(given["raw"]))  # type: ignore[attr-defined]


def of_february(segment: str) -> list[str]:
    """The tokens of a segment as in 2026.2.17, where Chinese was the only script without spaces."""
    characters = HAN.findall(segment)
    return [*characters, *map("".join, pairwise(characters))] or [segment]


@adapts_every("query-expansion")
def query_expansion(case: Case) -> list[str]:
    only(case.input, "query", "ftsTokenizer")
    if before_july(case):
        return keywords(case.input["query"], of_february, frozenset(WORDS["English"] + WORDS["Chinese"]))
    since_september(case)
    cut = words.CUTS[case.input.get("ftsTokenizer", "unicode61")]
    return keywords(case.input["query"], cut)


@adapts("keyword-plan", *AUTUMN)
def keyword_plan(given: Given) -> dict[str, Any]:
    only(given, "query", "ftsTokenizer")
    plan = words.keyword_plan(given["query"], given.get("ftsTokenizer", "unicode61"))
    return {"matchQuery": compiled(plan.query), "substringTerms": list(plan.substrings)}


# Scores


@adapts("bm25-rank-to-score", *WINTER)
def clamped(given: Given) -> float:
    return _converted(ClampedRank(), given)


@adapts("bm25-rank-to-score", *SPRING, *AUTUMN)
def relevant(given: Given) -> float:
    return _converted(Relevance(), given)


def _converted(stage: ClampedRank | Relevance, given: Given) -> float:
    return float(stage.formula(Columns({"keyword_raw": np.array([float(given["rank"])])}))[0])


@adapts("fallback-keyword-score", *AUTUMN)
def fallback_keyword_score(given: Given) -> float:
    only(given, "query", "path", "text", "ftsScore")
    asked = words.ranking_words(given["query"])
    if not asked:
        return float(given["ftsScore"])
    chunk = Chunk("given", given["path"], "memory", 1, 1, given["text"])
    (seen,) = words.features(asked, [chunk]).T
    return float(words.boosted(given["ftsScore"], *seen))


@adapts("decay-multiplier", *LATER)
def decay_multiplier(given: Given) -> float:
    rate = ranking.decay_rate(float(given["halfLifeDays"]))
    return float(ranking.decay(float(given["ageInDays"]), rate))


@adapts_every("decay-date")
def decay_date(case: Case) -> dict[str, Any]:
    day, evergreen = _names(case).of(case.input["path"])
    return {"date": day and day.isoformat(), "evergreen": evergreen}


def _names(case: Case) -> ranking.DatedNames:
    if before_july(case):
        return ranking.FEBRUARY_NAMES
    since_september(case)
    return ranking.SEPTEMBER_NAMES


@adapts_every("decay-merge")
def decay_merge(case: Case) -> list[list[Any]]:
    only(case.input, "nowMs", "halfLifeDays", "vector")
    paths, scores = zip(*case.input["vector"], strict=True)
    ages = [_age(_names(case).of(path).day, case.input["nowMs"]) for path in paths]
    recency = ranking.Recency(half_life_days=case.input["halfLifeDays"])
    columns = {"age_days": np.array(ages, float), "vector_score": np.array(scores, float)}
    columns["recency"] = recency.formula(Columns(columns))
    columns["keyword_score"] = np.full(len(paths), np.nan)
    weighed = ranking.WeighedSum(vector=1, keyword=0).formula(Columns(columns))
    order = np.argsort(-weighed, kind="stable")
    return [[paths[place], float(weighed[place])] for place in order]


def _age(day: Any, now_ms: float) -> float:
    if day is None:
        return math.nan
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    return (now_ms / 1000 - midnight) / 86_400


@adapts("importance", *AUTUMN)
def importance(given: Given) -> float:
    level = ranking.importance_level(given["importance"])
    return float(ranking.importance_factor(level))


@adapts("project-affinity", *AUTUMN)
def project_affinity(given: Given) -> float:
    return ranking.project_affinity(given["projectKey"], given["active"])


@adapts("exact-path-tie", *AUTUMN)
def exact_path_tie(given: Given) -> float:
    return float(ranking.exact_path_tie(given["contentScore"]))


@adapts("exact-path", *AUTUMN)
def exact_path(given: Given) -> int:
    return words.exact_path_tier(given["query"], given["path"])


# Chunks


@adapts("cjk-weight", *AUTUMN)
def cjk_weight(given: Given) -> int:
    return weight(given["text"])


@adapts_every("chunking")
def chunking(case: Case) -> Any:
    since_september(case)
    only(case.input, "content", "content_generator", "chunking")
    settings = dict(case.input.get("chunking", {}))
    per_entry = settings.pop("perEntry", False)
    text = content(case.input)
    if per_entry:
        chunks = [_chunk(*pair) for pair in EntryChunker(**settings).by_entry(text)]
    else:
        chunks = [_chunk(passage) for passage in WeightedChunker(**settings).chunk(text)]
    if "content_generator" not in case.input:
        return chunks
    lengths = [utf16_length(chunk["text"]) for chunk in chunks]
    return {"utf16Lengths" if case.input["content_generator"].startswith("U+") else "lengths": lengths}


def _chunk(passage: Any, entry: Any = None) -> dict[str, Any]:
    chunk = {
        "startLine": passage.start_line,
        "endLine": passage.end_line,
        "text": passage.text,
        "hash": passage.hash,
    }
    if entry and entry.bullet:
        chunk |= {"entryStartLine": entry.start_line, "entryEndLine": entry.end_line}
    return chunk


# Diversity


def _mmr(case: Case, lambda_: float = 0.7) -> MMR:
    return MMR(lambda_) if before_july(case) else UnspacedMMR(lambda_)


@adapts_every("mmr-tokenize")
def mmr_tokenize(case: Case) -> list[str]:
    return _mmr(case).tokens(case.input["text"])


@adapts("mmr-jaccard", *LATER)
def mmr_jaccard(given: Given) -> float:
    return jaccard(given["a"], given["b"])


@adapts("mmr-score", *LATER)
def mmr_score_(given: Given) -> float:
    return float(mmr_score(given["relevance"], given["maxSimilarity"], given["lambda"]))


@adapts_every("mmr-rerank")
def mmr_rerank(case: Case) -> list[str]:
    items, config = case.input["items"], case.input.get("config", {})
    only(config, "enabled", "lambda")
    if not config.get("enabled", False):
        return [item["id"] for item in items]
    mmr = _mmr(case, config.get("lambda", 0.7))
    items = sorted(items, key=lambda item: -item["score"])
    scores = np.array([item["score"] for item in items], float)
    picked = pick(scores, mmr.similarities([item["text"] for item in items]), mmr.relevance_weight)
    return [items[place]["id"] for place in picked.order]


# Fusion and selection


def traced(chunks: Sequence[Chunk], columns: Mapping[str, Sequence[float]], *stages: Stage) -> Trace:
    """A trace that has got as far as these columns, in the order of the chunks."""
    rows = np.arange(len(chunks))
    return Trace(
        "X",
        "given",
        stages,
        chunks=tuple(chunks),
        rows=rows,
        columns={name: np.array(column, float) for name, column in columns.items()},
        dropped=np.full(len(chunks), KEPT),
        order=rows,
    )


HIT = ("id", "path", "startLine", "endLine", "source", "snippet", "importance", "projectKey")
DECAY = ("temporalDecay", "nowMs")
KEYWORD_HIT = ("textScore", "rankingScore", "pathScore", "exactPathSpecificity", "hasBodyMatch")


@adapts("hybrid-merge-9.6", *AUTUMN)
def hybrid_merge(given: Given) -> list[dict[str, Any]]:
    only(given, "vector", "keyword", "vectorWeight", "textWeight", "activeProjectKeys", "mmr", *DECAY)
    hits: dict[str, dict[str, Any]] = {}
    for hit in given["vector"]:
        only(hit, *HIT, "vectorScore", "exactPathSpecificity")
        hits[hit["id"]] = dict(hit)
    for hit in given["keyword"]:
        only(hit, *HIT, *KEYWORD_HIT)
        hits[hit["id"]] = _joined(hits.get(hit["id"], {}), hit)
    stages: list[Any] = [ranking.WeighedSum(given["vectorWeight"], given["textWeight"]), ranking.ByTier()]
    mmr = given.get("mmr", {})
    if mmr.get("enabled"):
        stages.append(ranking.TieredMMR(mmr.get("lambda", 0.7)))
    chunks = [merge_chunk(hit) for hit in hits.values()]
    trace = traced(chunks, _merge_columns(hits.values(), given), *stages)
    index = FixedIndex([(chunk, 0.0) for chunk in chunks], [])  # MMR reads the texts from it
    for stage in stages:
        trace = stage.run(trace, Running(index, "X", len(hits)))
    rows = list(hits.values())
    return [
        {
            "path": rows[row]["path"],
            "score": float(trace.columns["score"][row]),
            "vectorScore": rows[row].get("vectorScore", 0),
            "textScore": rows[row].get("textScore", 0),
        }
        for row in trace.order
    ]


def _joined(vector: Mapping[str, Any], keyword: Mapping[str, Any]) -> dict[str, Any]:
    """One hit of both legs: the keyword leg's fields, where the vector leg does not say the same of it."""
    tier = max(vector.get("exactPathSpecificity", 0), keyword.get("exactPathSpecificity", 0))
    snippet = keyword["snippet"] or vector.get("snippet", "")
    return {**keyword, **vector, "snippet": snippet, "exactPathSpecificity": tier}


def _merge_columns(hits: Any, given: Given) -> dict[str, list[float]]:
    active = given.get("activeProjectKeys") or []
    levels = [ranking.importance_level(hit.get("importance")) for hit in hits]
    decay = given.get("temporalDecay", {})
    rate = ranking.decay_rate(decay.get("halfLifeDays", 30)) if decay.get("enabled") else 0.0
    days = [ranking.SEPTEMBER_NAMES.of(hit["path"]).day for hit in hits]
    return {
        "recency": [float(ranking.decay(_age(day, given.get("nowMs", 0)), rate)) for day in days],
        "vector_score": [hit.get("vectorScore", math.nan) for hit in hits],
        "keyword_score": [
            hit.get("rankingScore", hit["textScore"]) if hit.get("textScore", 0) > 0 else math.nan
            for hit in hits
        ],
        "lexical_rank": [_lexical_rank(hit) for hit in hits],
        "path_score": [hit.get("pathScore", 0) for hit in hits],
        "path_tier": [hit.get("exactPathSpecificity", 0) for hit in hits],
        "importance": [float(ranking.importance_factor(level)) for level in levels],
        "affinity": [ranking.project_affinity(hit.get("projectKey"), active) for hit in hits],
    }


def _lexical_rank(hit: Mapping[str, Any]) -> float:
    """What a hit is worth that has the words, though no MATCH has found it."""
    unranked = hit.get("hasBodyMatch", False) and hit.get("textScore", 0) == 0
    return float(hit.get("rankingScore", 0)) if unranked else 0.0


@adapts("select-9.6", *AUTUMN)
def select(given: Given) -> list[str]:
    only(given, "merged", "keywordRanges", "maxResults", "minScore")
    merged, ranges = given["merged"], set(given["keywordRanges"])
    chunks = [
        Chunk(str(place), row["path"], row["source"], row["startLine"], row["endLine"], "")
        for place, row in enumerate(merged)
    ]
    columns = {
        "score": [row["score"] for row in merged],
        "vector_score": [row.get("vectorScore", 0) for row in merged],
        "keyword_rank": [1.0 if _range(one) in ranges else math.nan for one in chunks],
    }
    stages = (MinScore(given["minScore"]), SpareSlots(), Limit(given["maxResults"]))
    assert [SEPTEMBER[stage.slot].__class__ for stage in stages] == [type(stage) for stage in stages]
    trace = traced(chunks, columns, *stages)
    for stage in stages:
        trace = stage.run(trace, None)  # type: ignore[arg-type]
    return [one.chunk.path for one in trace.results]


def _range(chunk: Chunk) -> str:
    return f"{chunk.source}:{chunk.path}:{chunk.start_line}:{chunk.end_line}"
