"""The symptoms that triage knows, as people tell them: each with its checks, its specimens and its lesson."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Symptom:
    """A symptom: its name, how people tell it, what to run, specimens of the museum, and a lesson."""

    name: str
    says: str
    phrases: tuple[str, ...]
    checks: tuple[str, ...]
    specimens: tuple[str, ...]
    lesson: str


SYMPTOMS = (
    Symptom(
        "nothing comes back",
        "One missing word empties the keyword leg, or the floor is above what one leg alone can score.",
        (
            "nothing comes back",
            "the search returns no results at all, although a note contains the words",
            "an exact word that is in one note finds nothing",
            "empty answer for a question with many words",
        ),
        ("workbench lint openclaw-2026.2.13", 'workbench diagnose "QUESTION" --target FILE'),
        ("openclaw-and-join", "openclaw-unreachable-floor", "mulder-silent-syntax-error"),
        "01_and_join",
    ),
    Symptom(
        "keywords have no effect",
        "The keyword leg finds nothing, or its score is the same for all hits or weighs nothing.",
        (
            "same order with and without keywords",
            "hybrid search gives the same answer as vector search",
            "keyword weight has no effect on the ranking",
            "an exact match of a name does not move up",
        ),
        ("workbench runs lint FILE", "workbench blame SYSTEM SYSTEM"),
        ("basic-memory-dead-full-text", "automem-dead-keyword-weight", "fts5-idf-floor"),
        "08_basic_memory",
    ),
    Symptom(
        "every keyword hit has the same score",
        "BM25 is turned into a score that is always 1, or that is upside down.",
        (
            "every keyword hit has the same score",
            "all results score 100 percent",
            "weak matches score higher than strong ones in text search",
            "the BM25 score is inverted",
        ),
        ("workbench runs lint FILE", "workbench lint openclaw-2026.2.13"),
        ("openclaw-clamped-bm25", "qmd-upside-down"),
        "03_clamped_bm25",
    ),
    Symptom(
        "the limit changes the order",
        "Scores are scaled by the fetched candidates, and the limit decides how many are fetched.",
        (
            "the limit changes who is first",
            "asking for more results gives another order",
            "the score of a document depends on top_k",
            "another number of results changes the best hit",
        ),
        ('workbench search "QUESTION" --limit 3', "workbench sweep SYSTEM limit.count=1:20:20"),
        ("score-depends-on-size", "qdrant-grouping-widens-the-pool", "automem-pool-is-the-limit"),
        "06_min_max_and_convex",
    ),
    Symptom(
        "nonsense scores high",
        "The best hit of a leg is scaled to 1 whatever it is, so a score says nothing about relevance.",
        (
            "a perfect score for nonsense",
            "irrelevant results get a high score",
            "a question about something that is not in the memory returns confident hits",
            "the first hit has the same score for every question",
        ),
        ("workbench runs lint FILE", "workbench evaluate --questions FILE"),
        ("metronix-constant-score", "qmd-blend-floor", "basic-memory-ungated-relaxation"),
        "06_min_max_and_convex",
    ),
    Symptom(
        "only in another script",
        "Words are cut with rules for ASCII letters, so a question in another script has no words.",
        (
            "only in Chinese",
            "search in Russian, Japanese or Korean finds nothing but English works",
            "umlauts and accents break the words",
            "questions that are not in English return no keyword hits",
        ),
        ('workbench explain "QUESTION" --target FILE', "workbench evaluate --questions FILE"),
        ("basic-memory-non-latin-never-relaxed",),
        "08_basic_memory",
    ),
    Symptom(
        "a threshold drops everything",
        "The threshold is for cosines, and the scores are those of fused ranks, which are tiny.",
        (
            "a threshold of 0.3 drops everything",
            "all scores are about 0.03 or 0.016",
            "after switching to RRF the minimum score removes every result",
            "a perfect match scores 3 percent",
        ),
        ("workbench runs lint FILE", "workbench lint SYSTEM"),
        ("threshold-on-rrf-scale", "basic-memory-diluted-score"),
        "04_rrf_and_its_scale",
    ),
    Symptom(
        "results below the threshold",
        "The threshold is applied before a later step changes the scores or adds results, or never.",
        (
            "results below min_score are returned",
            "the score threshold is ignored",
            "hits with a score lower than I requested",
        ),
        ('workbench search "QUESTION" --min-score 0.5', "workbench runs lint FILE --scale 0.5:1"),
        ("floor-before-squash", "qdrant-local-threshold", "openviking-fill-below-floor"),
        "04_rrf_and_its_scale",
    ),
    Symptom(
        "found by words or meaning alone, and lost",
        "A document that only one leg finds gets at most that leg's weight, which is below the floor.",
        (
            "the right document is found by one search but missing in the hybrid answer",
            "a strong semantic match is dropped because the keyword part is zero",
            "vector similarity 0.45 is not enough to be returned",
            "keyword-only hits never appear",
        ),
        ('workbench explain "QUESTION" --target FILE', "workbench lint SYSTEM"),
        ("openclaw-unreachable-floor", "mem0-semantic-gate"),
        "02_the_0.7_penalty",
    ),
    Symptom(
        "one retriever outvotes both",
        "In a fusion of ranks a small k, or a rank for absent documents, lets one list decide.",
        (
            "a hit of one retriever outranks a hit that both found",
            "the weights of the retrievers are ignored",
            "documents that one leg never found get credit",
            "many chunks of a long document push it to the top",
        ),
        ("workbench fusion", "workbench blame SYSTEM SYSTEM"),
        ("qdrant-k2", "tarsy-credit-for-absence", "llamaindex-weights-ignored", "langchain-duplicate-chunks"),
        "09_whose_fusion",
    ),
    Symptom(
        "the worst comes first",
        "A relevance is treated as a distance, or an absent score as the best one.",
        (
            "the least relevant result comes first",
            "the order of the results is reversed",
            "rows without any word of the question are on top",
        ),
        ("workbench runs lint FILE",),
        ("lancedb-inverted", "lancedb-absence-rewarded", "qmd-upside-down"),
        "03_clamped_bm25",
    ),
    Symptom(
        "new notes are not found",
        "The index is old, the file is not one that is read, or the model read only a part of it.",
        (
            "a note that I just wrote is not found",
            "the end of a long file is never found",
            "changes in a file do not show up in the search",
            "a saved memory never comes back",
        ),
        ("workbench index FOLDER", 'workbench diagnose "QUESTION" --target FILE'),
        ("agentmemory-token-budget",),
        "10_inside_the_index",
    ),
    Symptom(
        "words with punctuation are not found",
        "A character that the full-text engine reads as an operator, or that cuts a word, is not quoted.",
        (
            "a word with a hyphen is not found",
            "searching for @name or a path gives no hits",
            "a question mark changes the results",
            "an apostrophe finds unrelated notes",
        ),
        ('workbench explain "QUESTION" --target FILE',),
        (
            "mulder-silent-syntax-error", "automem-hyphen-never-matches", "basic-memory-possessive-s",
            "basic-memory-dead-full-text",
        ),
        "08_basic_memory",
    ),
    Symptom(
        "a filter empties the answer",
        "The nearest documents of all collections are taken first, and the filter removes them afterwards.",
        (
            "with a filter nothing is found, without it the note is there",
            "searching a small collection returns nothing",
            "more shards give other results",
        ),
        ("workbench museum qmd-filter-after-top-k",),
        ("qmd-filter-after-top-k", "qdrant-fusion-per-shard"),
        "07_automem",
    ),
    Symptom(
        "the same results for every question",
        "A leg that ignores the question decides: one whose scores are constant, or whose vectors are.",
        (
            "every question returns the same notes",
            "whatever I ask, the same results come back",
            "the answer does not depend on the question",
            "the results stay the same with whatever I type",
            "one file is always first, for any search",
            "every search gives the same list",
        ),
        ("workbench doctor --memory FOLDER", 'workbench explain "QUESTION" --target FILE'),
        ("metronix-constant-score", "openclaw-clamped-bm25"),
        "06_min_max_and_convex",
    ),
    Symptom(
        "a document comes back several times",
        "Chunks of one document are scored and returned as if they were documents of their own.",
        (
            "duplicates in the results",
            "the same document is returned several times",
            "five of six results are chunks of one file",
        ),
        ("workbench runs lint FILE", 'workbench explain "QUESTION" --target FILE'),
        ("langchain-duplicate-chunks",),
        "09_whose_fusion",
    ),
    Symptom(
        "only exact words are found",
        "The vector leg brings nothing: chunks have no vectors, or what it alone finds is cut or scored 0.",
        (
            "only notes with the exact words are found",
            "synonyms and paraphrases find nothing",
            "semantic search does not work, only keyword matches come back",
            "I have to type the same words as in the note",
        ),
        ("workbench doctor --memory FOLDER", 'workbench diagnose "QUESTION" --target FILE'),
        ("haystack-dbsf-zero", "memory-lancedb-pro-unweighted-branch"),
        "02_the_0.7_penalty",
    ),
    Symptom(
        "worse since an upgrade",
        "A release changed how queries, scores or cut-offs work, or the index is still of another model.",
        (
            "the search stopped working after the upgrade",
            "since the new version it finds nothing",
            "after changing the embedding model the results are empty or random",
            "it worked in the previous release",
        ),
        (
            'workbench case new "QUESTION" --target FILE --out FILE.case.yaml',
            "workbench case run FILE.case.yaml --releases", "workbench doctor --memory FOLDER",
        ),
        ("qmd-upside-down", "basic-memory-possessive-s", "automem-floor-cuts-more"),
        "13_reproduce_a_bug_report",
    ),
    Symptom(
        "fewer results after a fix",
        "A cut-off was set for the scores before the fix; with other scores it cuts elsewhere.",
        (
            "fewer results after the update",
            "after fixing the keyword score memories disappear",
            "an adaptive threshold cuts more than before",
        ),
        ("workbench gate --questions FILE --against FILE", "workbench blame SYSTEM SYSTEM"),
        ("automem-floor-cuts-more", "haystack-dbsf-zero"),
        "07_automem",
    ),
)  # fmt: skip
