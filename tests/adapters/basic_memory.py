"""Basic Memory, from the fusion of weighted ranks to #1269."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ir_measures import RR, R

from benchmarks.published.basic_memory import precision_at_k
from tests.adapters import Case, adapts_every, adapts_known
from tests.world import compiled, written
from workbench.measure.measures import Judged, means
from workbench.retrieval.columns import Columns
from workbench_plugins.basic_memory import pipelines
from workbench_plugins.basic_memory import query_preparation as preparation
from workbench_plugins.basic_memory.note_chunkers import BulletChunker
from workbench_plugins.basic_memory.notes import EachColumn, Note, NoteStore, OneMatch
from workbench_plugins.basic_memory.pipelines import FUSION
from workbench_plugins.runs.collections import evidence_sessions

Given = Mapping[str, Any]

LINEAGE = (
    "e46555bf", "f5a0e942", "253e240d", "232f4690", "a6d07843", "18da6194", "16869867", "a2f5edfa",
    "5e4b1196", "d6563bd3", "a468f42b", "c25ae596", "1f56fc76",
)  # fmt: skip
"""The commits of the search, oldest first."""
BEFORE_MERGE = {
    "d46c6880": "232f4690",
    "2462844b": "a6d07843",
    "8d4d1f19": "18da6194",
    "6074bda8": "16869867",
    "HEAD": "1f56fc76",
}
"""The commits of the pull request, by those that they became."""
ELSEWHERE = ("55d675e2", "9c9ff293", "cb6bc320", "07778790", "ea38fd76")
"""Commits of parts that have not changed since, whose place among the others we do not know."""

RELAXATIONS: Mapping[str, preparation.Relaxation] = {
    "e46555bf": preparation.NoRelaxation(),
    "a6d07843": preparation.AnyPlainWord(),
    "16869867": preparation.GatedPlainWord(),
    "a2f5edfa": preparation.AnyToken(),
    "1f56fc76": preparation.AnyUnicodeToken(),
}
"""The rules of relaxation, by the commit that brought them."""


def commit_of(case: Case) -> str:
    """The first commit that a case names, by eight digits. Raises LookupError for one that is not known."""
    named = re.match(r"[0-9a-f]{7,40}|HEAD", case.version)
    if named:
        commit = BEFORE_MERGE.get(named[0][:8], named[0][:8])
        for known in (*LINEAGE, *ELSEWHERE):
            if known.startswith(commit):
                return known
    raise LookupError(f"no commit {case.version!r} in group {case.group!r}")


def has(case: Case, commit: str) -> bool:
    """Whether `commit` is in the case's history. LookupError where its place in that is not known."""
    own = commit_of(case)
    if own not in LINEAGE:
        raise LookupError(f"the place of {own} in the history is not known")
    return LINEAGE.index(own) >= LINEAGE.index(commit)


def relaxation_of(case: Case) -> preparation.Relaxation:
    return [rules for commit, rules in RELAXATIONS.items() if has(case, commit)][-1]


@adapts_every("fts_prep_sqlite")
def fts_prep_sqlite(case: Case) -> str:
    stage = (
        preparation.PunctuationStripped() if has(case, "a6d07843") else preparation.PunctuationMakesAPhrase()
    )
    strict = preparation.strict_query(case.input["query"], stage.edges, case.input.get("is_prefix", True))
    return compiled(strict) or ""


@adapts_every("fts_prep_postgres")
def fts_prep_postgres(case: Case) -> str:
    edges = preparation.POSTGRES_EDGES if has(case, "a6d07843") else ""
    unguarded = has(case, "a6d07843") and not has(case, "18da6194")
    nothing = ":*" if unguarded else preparation.NO_LEXEME
    return preparation.strict_tsquery(case.input["query"], edges, nothing, case.input.get("is_prefix", True))


@adapts_every("relaxed_query_words")
def relaxed_query_words(case: Case) -> list[str] | None:
    return relaxation_of(case).words(case.input["query"])


@adapts_every("relaxed_render_sqlite")
def relaxed_render_sqlite(case: Case) -> str | None:
    return compiled(relaxation_of(case).query(case.input["query"]))


@adapts_every("relaxed_render_postgres")
def relaxed_render_postgres(case: Case) -> str | None:
    words = relaxation_of(case).words(case.input["query"])
    return preparation.any_lexeme(words) if words else None


SERVICE_WORDS = "but did do does had has have i that they were which whom whose will"
"""Words that were no stopwords of the search service's own retry, which it had until a2f5edfa."""


@adapts_every("service_relax_eligible")
def service_relax_eligible(case: Case) -> bool:
    """Whether the search service tried again: only in text mode, and for a question without parentheses."""
    _check_own_retry(case)
    asked = case.input["query"] or ""
    tokens = preparation.ascii_tokens(asked)
    numeric = any(map(preparation.is_numeric, tokens))
    plain = not preparation.is_refused(asked) and not set("()") & set(asked) and not numeric
    return (
        case.input.get("retrieval_mode", "fts") == "fts" and plain and len(tokens) >= preparation.FEWEST_WORDS
    )


@adapts_every("service_relaxed_query")
def relaxed_by_service(case: Case) -> str:
    """Any of the words, without stars; stopwords are used only if there is no other word."""
    _check_own_retry(case)
    tokens = preparation.ascii_tokens(case.input["query"])
    kept = [word for word in tokens if word not in preparation.STOPWORDS - set(SERVICE_WORDS.split())]
    return " OR ".join(dict.fromkeys(kept or tokens))


def _check_own_retry(case: Case) -> None:
    if has(case, "a2f5edfa"):
        raise LookupError("since a2f5edfa the service has no retry of its own")


@adapts_known("fts5_match_ids", commit_of)
def fts5_match_ids(given: Given) -> list[str]:
    docs, sql = given["docs"], given.get("sql", "")
    store = NoteStore([Note(doc.get("title", ""), doc.get("body", ""), "", "") for doc in docs])
    matching = OneMatch() if "one MATCH" in sql or "{" in sql else EachColumn()
    return [docs[row]["id"] for row in store.search(written(given["match"]), len(docs), matching).rows]


@adapts_every("hybrid_fusion")
def hybrid_fusion(case: Case) -> list[list[Any]]:
    keyword, vector = case.input.get("fts", []), case.input.get("vector", [])
    ids = list(dict.fromkeys(id_ for id_, _ in (*keyword, *vector)))
    columns = {**_leg(ids, "keyword", keyword), **_leg(ids, "vector", vector)}
    columns["vector_score"] = columns.pop("vector_raw")
    columns["keyword_score"] = pipelines.KeywordOverLargest().formula(Columns(columns))
    fusion = FUSION.stage if has(case, "f5a0e942") else pipelines.ScoredRRF()
    fused = [[id_, float(score)] for id_, score in zip(ids, fusion.formula(Columns(columns)), strict=True)]
    return sorted(fused, key=lambda one: (-one[1], one[0]))


def _leg(ids: Sequence[str], name: str, hits: Sequence[Sequence[Any]]) -> dict[str, np.ndarray]:
    raw, rank = np.full(len(ids), np.nan), np.full(len(ids), np.nan)
    for place, (id_, number) in enumerate(hits, 1):
        raw[ids.index(id_)], rank[ids.index(id_)] = number, place
    return {f"{name}_raw": raw, f"{name}_rank": rank}


@adapts_known("min_similarity", commit_of)
def min_similarity(given: Given) -> list[float]:
    asked = given.get("per_query")
    stage = pipelines.MinSimilarity(given["config_default"] if asked is None else asked)
    kept = stage.formula(Columns({"similarity": np.array(given["similarities"], float)}))
    return [float(number) for number in kept if not np.isnan(number)]


@adapts_known("distance_to_similarity", commit_of)
def distance_to_similarity(given: Given) -> float:
    return float(pipelines.similarity(given["l2_distance"] ** 2 / 2))


@adapts_known("candidate_limit", commit_of)
def candidates(given: Given) -> int:
    depth = pipelines.PageDepth(least=given.get("vector_k", pipelines.PageDepth.least))
    return depth.of(given["limit"] + given.get("offset", 0) - 1)  # a page asks for one more


@adapts_known("rerank_candidate_limit", commit_of)
def rerank_candidates(given: Given) -> int:
    given = {"offset": 0, "vector_k": 100, "reranker_candidates": 20, "fanout": 4, **given}
    beyond = given["limit"] + given["offset"] - given["reranker_candidates"]
    return max(given["vector_k"], given["reranker_candidates"] * given["fanout"]) + 10 * max(0, beyond)


@adapts_known("rerank_tail", commit_of)
def tail(given: Given) -> list[float]:
    return [given["floor"] / (place + 2) for place in range(given["count"])]


@adapts_known("vector_chunking", commit_of)
def vector_chunking(given: Given) -> list[str]:
    return [passage.text for passage in BulletChunker().chunk(given["text"])]


@adapts_every("bench_recall_at_k")
def bench_recall_at_k(case: Case) -> float:
    commit_of(case)
    (recall,) = means([_judged(case)], R @ case.input["k"])
    return recall


def _judged(case: Case) -> Judged:
    return Judged(case.input["hits"], case.input["ground_truth"])


@adapts_known("bench_precision_at_k", commit_of)
def bench_precision_at_k(given: Given) -> float:
    return precision_at_k(given["hits"], given["ground_truth"], given["k"])


@adapts_every("bench_mrr")
def bench_mrr(case: Case) -> float:
    commit_of(case)
    (reciprocal_rank,) = means([_judged(case)], RR)
    return reciprocal_rank


@adapts_known("locomo_evidence_to_sessions", commit_of)
def locomo_evidence_to_sessions(given: Given) -> list[int]:
    return evidence_sessions(given["evidence"])
