"""Basic Memory, from the fusion of weighted ranks to #1269."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ir_measures import RR, R

from tests.adapters import Case, adapts_every
from tests.world import compiled, written
from workbench.lab.bench.basic_memory import precision_at_k
from workbench.lab.bench.locomo import evidence_sessions
from workbench.lab.evaluation import Judged, means
from workbench.retrieval.columns import Columns
from workbench.systems.basic_memory.chunking import BulletChunker
from workbench.systems.basic_memory.note_table import EachColumn, Note, NoteStore, OneMatch
from workbench.systems.basic_memory.pipelines import FUSION
from workbench.systems.basic_memory.query import (
    NO_LEXEME,
    POSTGRES_EDGES,
    PunctuationMakesAPhrase,
    PunctuationStripped,
    strict_query,
    strict_tsquery,
)
from workbench.systems.basic_memory.relaxation import (
    AnyPlainWord,
    AnyToken,
    AnyUnicodeToken,
    GatedPlainWord,
    NoRelaxation,
    Relaxation,
    service_may_relax,
    service_relaxed_query,
)
from workbench.systems.basic_memory.scores import (
    KeywordOverLargest,
    MinSimilarity,
    ScoredRRF,
    candidate_limit,
    rerank_candidate_limit,
    rerank_tail,
    similarity_of_l2,
)

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

RELAXATIONS: Mapping[str, Relaxation] = {
    "e46555bf": NoRelaxation(),
    "a6d07843": AnyPlainWord(),
    "16869867": GatedPlainWord(),
    "a2f5edfa": AnyToken(),
    "1f56fc76": AnyUnicodeToken(),
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


def relaxation_of(case: Case) -> Relaxation:
    return [rules for commit, rules in RELAXATIONS.items() if has(case, commit)][-1]


@adapts_every("fts_prep_sqlite")
def fts_prep_sqlite(case: Case) -> str:
    stage = PunctuationStripped() if has(case, "a6d07843") else PunctuationMakesAPhrase()
    return compiled(strict_query(case.input["query"], stage.edges, case.input.get("is_prefix", True))) or ""


@adapts_every("fts_prep_postgres")
def fts_prep_postgres(case: Case) -> str:
    edges = POSTGRES_EDGES if has(case, "a6d07843") else ""
    unguarded = has(case, "a6d07843") and not has(case, "18da6194")
    nothing = ":*" if unguarded else NO_LEXEME
    return strict_tsquery(case.input["query"], edges, nothing, case.input.get("is_prefix", True))


@adapts_every("relaxed_query_words")
def relaxed_query_words(case: Case) -> list[str] | None:
    return relaxation_of(case).words(case.input["query"])


@adapts_every("relaxed_render_sqlite")
def relaxed_render_sqlite(case: Case) -> str | None:
    return compiled(relaxation_of(case).query(case.input["query"]))


@adapts_every("relaxed_render_postgres")
def relaxed_render_postgres(case: Case) -> str | None:
    return relaxation_of(case).tsquery(case.input["query"])


@adapts_every("service_relax_eligible")
def service_relax_eligible(case: Case) -> bool:
    _check_own_retry(case)
    return service_may_relax(case.input["query"] or "", case.input.get("retrieval_mode", "fts"))


@adapts_every("service_relaxed_query")
def relaxed_by_service(case: Case) -> str:
    _check_own_retry(case)
    return service_relaxed_query(case.input["query"])


def _check_own_retry(case: Case) -> None:
    if has(case, "a2f5edfa"):
        raise LookupError("since a2f5edfa the service has no retry of its own")


@adapts_every("fts5_match_ids")
def fts5_match_ids(case: Case) -> list[str]:
    commit_of(case)
    docs, sql = case.input["docs"], case.input.get("sql", "")
    store = NoteStore([Note(doc.get("title", ""), doc.get("body", ""), "", "") for doc in docs])
    matching = OneMatch() if "one MATCH" in sql or "{" in sql else EachColumn()
    return [docs[row]["id"] for row in store.search(written(case.input["match"]), len(docs), matching).rows]


@adapts_every("hybrid_fusion")
def hybrid_fusion(case: Case) -> list[list[Any]]:
    keyword, vector = case.input.get("fts", []), case.input.get("vector", [])
    ids = list(dict.fromkeys(id_ for id_, _ in (*keyword, *vector)))
    columns = {**_leg(ids, "keyword", keyword), **_leg(ids, "vector", vector)}
    columns["vector_score"] = columns.pop("vector_raw")
    columns["keyword_score"] = KeywordOverLargest().formula(Columns(columns))
    fusion = FUSION.stage if has(case, "f5a0e942") else ScoredRRF()
    scores = fusion.formula(Columns(columns))
    fused = [[id_, float(score)] for id_, score in zip(ids, scores, strict=True)]
    return sorted(fused, key=lambda one: (-one[1], one[0]))


def _leg(ids: Sequence[str], name: str, hits: Sequence[Sequence[Any]]) -> dict[str, np.ndarray]:
    raw, rank = np.full(len(ids), np.nan), np.full(len(ids), np.nan)
    for place, (id_, number) in enumerate(hits, 1):
        raw[ids.index(id_)], rank[ids.index(id_)] = number, place
    return {f"{name}_raw": raw, f"{name}_rank": rank}


@adapts_every("min_similarity")
def min_similarity(case: Case) -> list[float]:
    commit_of(case)
    asked = case.input.get("per_query")
    stage = MinSimilarity(case.input["config_default"] if asked is None else asked)
    kept = stage.formula(Columns({"similarity": np.array(case.input["similarities"], float)}))
    return [float(number) for number in kept if not np.isnan(number)]


@adapts_every("distance_to_similarity")
def distance_to_similarity(case: Case) -> float:
    commit_of(case)
    return float(similarity_of_l2(case.input["l2_distance"]))


@adapts_every("candidate_limit")
def candidates(case: Case) -> int:
    commit_of(case)
    return candidate_limit(**case.input)


@adapts_every("rerank_candidate_limit")
def rerank_candidates(case: Case) -> int:
    commit_of(case)
    given = dict(case.input)
    if "reranker_candidates" in given:
        given["reranked"] = given.pop("reranker_candidates")
    return rerank_candidate_limit(**given)


@adapts_every("rerank_tail")
def tail(case: Case) -> list[float]:
    commit_of(case)
    return rerank_tail(**case.input)


@adapts_every("vector_chunking")
def vector_chunking(case: Case) -> list[str]:
    commit_of(case)
    return [passage.text for passage in BulletChunker().chunk(case.input["text"])]


@adapts_every("bench_recall_at_k")
def bench_recall_at_k(case: Case) -> float:
    commit_of(case)
    (recall,) = means([_judged(case)], R @ case.input["k"])
    return recall


def _judged(case: Case) -> Judged:
    return Judged(case.input["hits"], case.input["ground_truth"])


@adapts_every("bench_precision_at_k")
def bench_precision_at_k(case: Case) -> float:
    commit_of(case)
    return precision_at_k(case.input["hits"], case.input["ground_truth"], case.input["k"])


@adapts_every("bench_mrr")
def bench_mrr(case: Case) -> float:
    commit_of(case)
    (reciprocal_rank,) = means([_judged(case)], RR)
    return reciprocal_rank


@adapts_every("locomo_evidence_to_sessions")
def locomo_evidence_to_sessions(case: Case) -> list[int]:
    commit_of(case)
    return evidence_sessions(case.input["evidence"])
