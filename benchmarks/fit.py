"""Fit the weights of `recommended` on three collections, and cross-validate them.

    python -m benchmarks.fit locomo.json corrections.json FOLDER QUESTIONS.yaml --write

The third collection is benchmarks/notes: notes of an assistant, with questions that no note answers. The
score is a conditional logit over the files that a question brings: the weights make the right file the
likeliest. `answerable` is a logistic regression: what each question brings, against what it brings without
the right files, what questions of another collection bring, what questions bring that no note answers, and
LoCoMo's adversarial questions, which ask one person for what the other one said.
All collections count equally. The floor is the highest one that loses at most 1 in 100 right answers on each
collection. Everything is cross-validated: LoCoMo by conversation, the folder by subfolder, the notes by note.

`--keep-score` leaves the weights of the score as they are, and fits `answerable` and the floor alone.
`--model` fits them for another local model. Give it a WORKBENCH_HOME of its own, for its own indexes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from tqdm.auto import tqdm

import workbench as wb
from benchmarks.published.basic_memory import session_index
from workbench.contracts import Index
from workbench.measure.paired import paired_values
from workbench.measure.questions import load_questions
from workbench.memory.embedding.local import PACKAGED_MODEL, LocalEmbedder, Truncated
from workbench.memory.sources import LineChunker
from workbench.memory.sync import index_folder
from workbench.records import Floats, Trace
from workbench.retrieval.pipeline import search
from workbench_plugins.recommended.layout import PassageIndex, passages_of
from workbench_plugins.recommended.pipelines import FILE, RECOMMENDED, WEIGHTS
from workbench_plugins.recommended.stages import CLEAR, FEATURES
from workbench_plugins.runs.collections import load

PARTS = ("vector", "keyword", "title", "late", "file_late", "file_mean", "link", "identifier")
ON_TOP = np.array([part in ("link", "identifier") for part in PARTS])
"""Not every memory has links, nor every question an identifier, so their weights come on top of the others,
which sum to 1."""
NOTES = Path(__file__).parent / "notes"
FOLDS = 5
SHRINKING = 1e-3
ADVERSARIAL = 5
"""LoCoMo's category of questions about the wrong person."""
LOST = 0.01
"""The share of right answers that the floor may cost on each collection. With 0.05 it lost 6 in 100 on notes
that had not chosen it."""


@dataclass(frozen=True)
class Asked:
    """What one question brings: for each file the parts of its score, the most support that a chunk of it
    has, the best cosine of a chunk's own vector, and whether it is right.

    `others` says whether the best file has the question's other words beside another name, and whether the
    best wrong one has. `near` says that the
    question is a near miss: the right files have what it is about, and not what it asks for.
    """

    parts: Floats
    support: Floats
    nearest: Floats
    others: tuple[bool, bool]
    right: np.ndarray
    truth: int
    group: str
    near: bool = False

    def evidence(self, without_the_right_files: bool = False) -> list[float]:
        """What `answerable` looks at."""
        keep = ~self.right if without_the_right_files else np.ones(self.right.size, bool)
        if not keep.any():
            return [0.0, 0.0, 0.0]
        other = float(self.others[without_the_right_files])
        return [self.support[keep].max(), max(self.nearest[keep].max(), 0.0), other]


@dataclass(frozen=True)
class Collection:
    """A collection's questions, and two kinds of questions that it does not answer.

    `k` and `limit` say within how many results a file counts for recall, and for MRR.
    """

    name: str
    k: int
    limit: int
    known: list[Asked]
    strangers: list[Asked] = field(default_factory=list)
    unanswered: list[Asked] = field(default_factory=list)

    @property
    def answered(self) -> list[Asked]:
        """The questions whose right file is found."""
        return [one for one in self.known if one.right.any() and not one.near]

    @property
    def silent(self) -> list[Asked]:
        """The questions that the collection does not answer, near misses included."""
        return [*self.unanswered, *(one for one in self.known if one.near)]

    def without(self, fold: int) -> Collection:
        """The questions outside a fold."""
        return self._having(lambda folds: folds != fold)

    def only(self, fold: int) -> Collection:
        """The questions of a fold."""
        return self._having(lambda folds: folds == fold)

    def _having(self, chosen: Callable[[Floats], np.ndarray]) -> Collection:
        parts = [
            [one for one, keep in zip(some, chosen(folds(some)), strict=True) if keep]
            for some in (self.known, self.strangers, self.unanswered)
        ]
        return Collection(self.name, self.k, self.limit, *parts)


def asked(trace: Trace, truth: Sequence[str], group: str, index: PassageIndex) -> Asked:
    """The best candidate of each file by each part of the score."""
    ranked = list(dict.fromkeys(trace.chunks[row].path for row in trace.order))
    first = [next(iter(some), None) for some in (ranked, [path for path in ranked if path not in truth])]
    others = [path is not None and index.name_lead(trace.question, path) > CLEAR for path in first]
    files, owner = np.unique([chunk.path for chunk in trace.chunks], return_inverse=True)
    columns = [*(trace.columns[f"{part}_score"] for part in PARTS), trace.columns["support"]]
    best = np.full((files.size, len(columns) + 1), -np.inf)
    np.fmax.at(best, owner, np.stack([*columns, 1 - trace.columns["vector_raw"]], axis=1))
    right = np.isin(files, list(truth))
    return Asked(best[:, :-2], best[:, -2], best[:, -1], (others[0], others[1]), right, len(truth), group)


def ask(questions: Sequence[tuple[str, Sequence[str], str]], index: Index, name: str) -> list[Asked]:
    """What each question brings."""
    laid = passages_of(index.laid_out(RECOMMENDED.layout))
    assert laid is not None
    return [
        asked(search(question, RECOMMENDED, index), truth, group, laid)
        for question, truth, group in tqdm(questions, desc=name, mininterval=30)
    ]


def folds(some: Sequence[Asked]) -> Floats:
    """The fold of each question: groups are dealt out by size; questions without a group one by one."""
    named = [one.group or f"{place:05}" for place, one in enumerate(some)]
    sizes = {name: named.count(name) for name in set(named)}
    dealt = {name: place % FOLDS for place, name in enumerate(sorted(sizes, key=lambda n: (-sizes[n], n)))}
    return np.array([dealt[name] for name in named])


# The score


def fitted(collections: Sequence[Collection], use: np.ndarray) -> Floats:
    """The weights under which the right files are likeliest; those in use that are not on top sum to 1."""
    answered = [[one for one in some.known if one.right.any()] for some in collections]
    spread = np.concatenate([one.parts for some in answered for one in some]).std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    laid = [_laid_out(some, spread) for some in answered]

    def loss(weights: Floats) -> tuple[float, Floats]:
        found = [_loss(*one, weights) for one in laid]
        value = sum(one for one, _ in found) / len(laid) + SHRINKING * weights @ weights
        return value, sum(slope for _, slope in found) / len(laid) + 2 * SHRINKING * weights

    bounds = [(0, None if one else 0) for one in use]
    found = minimize(loss, np.where(use, 0.1, 0.0), jac=True, method="L-BFGS-B", bounds=bounds).x / spread
    return np.asarray(found / found[~ON_TOP].sum())


def _laid_out(some: Sequence[Asked], spread: Floats) -> tuple[Floats, np.ndarray, np.ndarray]:
    """The files of all questions, one after another: their parts, whether each is right, and its question."""
    return (
        np.concatenate([one.parts for one in some]) / spread,
        np.concatenate([one.right for one in some]),
        np.repeat(np.arange(len(some)), [one.right.size for one in some]),
    )


def _loss(parts: Floats, right: np.ndarray, question: np.ndarray, weights: Floats) -> tuple[float, Floats]:
    """-log of each right file's share against the wrong ones, meaned over files and then over questions."""
    scores = parts @ weights
    starts = np.flatnonzero(np.diff(question, prepend=-1))
    scores = scores - np.maximum.reduceat(scores, starts)[question]
    odds = np.exp(scores)
    wrong = np.add.reduceat(np.where(right, 0.0, odds), starts)
    places = np.flatnonzero(right)
    of = question[places]
    mass = wrong[of] + odds[places]
    share = 1 / (np.bincount(of)[of] * starts.size)
    push = np.where(right, 0.0, odds * np.bincount(of, share / mass, minlength=starts.size)[question])
    push[places] = share * (odds[places] / mass - 1)
    return float(share @ (np.log(mass) - scores[places])), push @ parts


def figures(some: Collection, weights: Floats) -> Floats:
    """For each question: evidence recall@k, the reciprocal rank within the limit, and any hit within k."""
    rows = []
    for one in some.known:
        # A wrong file with the same score is put first: ties count against us.
        places = np.flatnonzero(one.right[np.lexsort((one.right, -(one.parts @ weights)))])
        recall = np.count_nonzero(places < some.k) / one.truth if one.truth else 0.0
        first = places[0] if places.size else some.limit
        rows.append((recall, 1 / (1 + first) if first < some.limit else 0.0, float(first < some.k)))
    return np.array(rows).reshape(-1, 3)


# Silence


def calibration(collections: Sequence[Collection]) -> LogisticRegression:
    """Yes: each question. No, in equal parts: without its right files, of other collections, unanswered."""
    rows, yes, mass = [], [], []
    for some in collections:
        known = some.answered
        groups = [[one.evidence(True) for one in known]]
        groups += [[one.evidence() for one in more] for more in (some.strangers, some.silent) if more]
        for group, answer, share in (
            ([one.evidence() for one in known], 1, 1.0),
            *((group, 0, 1 / len(groups)) for group in groups),
        ):
            rows += group
            yes += [answer] * len(group)
            mass += [1000 * share / len(group)] * len(group)
    return LogisticRegression(C=1e4, max_iter=5000).fit(rows, yes, sample_weight=mass)


def chances(made: LogisticRegression, rows: Sequence[Sequence[float]]) -> Floats:
    """The probability of each row; none for no rows."""
    return made.predict_proba(rows)[:, 1] if rows else np.empty(0)


@dataclass(frozen=True)
class Judged:
    """The probabilities of a collection's questions, each by weights that have not seen its fold."""

    hit: np.ndarray
    yes: Floats
    near: Floats
    far: Floats
    unanswered: Floats

    def lost(self, floor: float) -> float:
        """The share of the answerable questions whose hit the floor holds back."""
        return float(np.mean(self.hit & (self.yes < floor)))


def judged(collections: Sequence[Collection]) -> dict[str, Judged]:
    """The cross-validated probabilities of each collection."""
    found: dict[str, list[list[Floats]]] = {some.name: [] for some in collections}
    for fold in range(FOLDS):
        rest = [some.without(fold) for some in collections]
        weights, made = fitted(rest, np.ones(len(PARTS), bool)), calibration(rest)
        for some in collections:
            found[some.name].append(_judged(some.only(fold), weights, made))
    return {name: _joined(each) for name, each in found.items()}


def _judged(held: Collection, weights: Floats, made: LogisticRegression) -> list[Floats]:
    """Which answerable questions are hit, and the probability of each question of the four kinds."""
    known = held.answered
    best = [one.right[np.argsort(-(one.parts @ weights))[:6]].any() for one in known]
    rows = [
        [one.evidence() for one in known],
        [one.evidence(True) for one in known],
        [one.evidence() for one in held.strangers],
        [one.evidence() for one in held.silent],
    ]
    return [np.array(best, bool), *(chances(made, one) for one in rows)]


def _joined(each: Sequence[Sequence[Floats]]) -> Judged:
    return Judged(*(np.concatenate([fold[kind] for fold in each]) for kind in range(5)))


def floor_of(all_judged: Sequence[Judged]) -> float:
    """The highest floor in thousandths that loses at most `LOST` of the right answers on each collection."""
    return max(
        (floor for floor in np.arange(1, 1000) / 1000 if all(one.lost(floor) <= LOST for one in all_judged)),
        default=0.0,
    )


def told(name: str, one: Judged, chosen: float) -> None:
    """Prints what each floor costs, the one in use included, and the reliability of the probabilities."""
    in_use = round(1 - WEIGHTS.wrong_per_hundred / 100, 3)
    for floor in sorted({chosen, in_use, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7}):
        more = f", unanswered {np.mean(one.unanswered < floor):.2f}" if one.unanswered.size else ""
        print(
            f"  {name:<7} {floor:.3f}: lost {one.lost(floor):.3f} of the answers, silent without the right "
            f"files {np.mean(one.near < floor):.2f}, on strangers {np.mean(one.far < floor):.2f}{more}"
        )
    no = (one.near, one.far, one.unanswered)
    both, truth = np.r_[one.yes, *no], np.r_[np.ones(one.yes.size), *(np.zeros(each.size) for each in no)]
    for low in np.arange(0, 1, 0.1):
        inside = (both >= low) & (both < low + 0.1)
        if inside.any():
            print(
                f"  {name:<7} said {both[inside].mean():.2f}, was {truth[inside].mean():.2f} "
                f"({inside.sum()} answers)"
            )


# Both


def validated(collections: Sequence[Collection]) -> None:
    """Prints the cross-validated figures with all parts, and without each part, its weights fitted anew.

    What a part changes has its interval by group: a conversation, a subfolder, a note.
    """
    every = np.ones(len(PARTS), bool)
    whole = _measured(collections, every)
    for some in collections:
        recall, mrr, hit = whole[some.name].mean(axis=0)
        none = sum(one.truth == 0 for one in some.known)
        missed = f"; {none} questions have no right file, and count as missed" if none else ""
        print(f"  {some.name:<7} recall@{some.k} {recall:.4f}, MRR {mrr:.4f}, any hit {hit:.4f}{missed}")
    for place, part in enumerate(PARTS):
        bare = _measured(collections, every & (np.arange(len(PARTS)) != place))
        for some in collections:
            for column, measure in ((0, f"recall@{some.k}"), (1, "MRR")):
                before, after = whole[some.name][:, column], bare[some.name][:, column]
                by_group = paired_values(before, after, measure, [one.group for one in some.known], "group")
                print(f"  without {part}, {some.name}: {by_group}")


def nested(collections: Sequence[Collection]) -> None:
    """Prints what each fold gets from parts and a floor that were chosen on the other folds alone.

    The parts are all, or all but one: those with the best mean MRR in a cross-validation of the other folds.
    """
    every = np.ones(len(PARTS), bool)
    choices = [every, *(every & (np.arange(len(PARTS)) != place) for place in range(len(PARTS)))]
    rows: dict[str, list[Floats]] = {some.name: [] for some in collections}
    above: dict[str, list[list[Floats]]] = {some.name: [] for some in collections}
    for fold in range(FOLDS):
        rest = [some.without(fold) for some in collections]
        inner = [_measured(rest, use).values() for use in choices]
        mrr = [np.mean([one[:, 1].mean() for one in each]) for each in inner]
        use = choices[int(np.argmax(mrr))]
        floor = floor_of(list(judged(rest).values()))
        weights, made = fitted(rest, use), calibration(rest)
        names = ", ".join(np.array(PARTS)[use])
        print(f"  nested, fold {fold}: {names}; floor {floor:.3f}")
        for some in collections:
            held = some.only(fold)
            hit, *probabilities = _judged(held, weights, made)
            rows[some.name].append(figures(held, weights))
            above[some.name].append([hit, *(one - floor for one in probabilities)])
    for some in collections:
        recall, mrr, hit = np.concatenate(rows[some.name]).mean(axis=0)
        one = _joined(above[some.name])
        found = f"recall@{some.k} {recall:.4f}, MRR {mrr:.4f}, any hit {hit:.4f}; lost {one.lost(0):.3f}"
        far, more = np.mean(one.far < 0), one.unanswered
        silent = f", on the unanswered {np.mean(more < 0):.2f}" if more.size else ""
        print(f"  nested, {some.name}: {found} of the answers, silent on strangers {far:.2f}{silent}")


def _measured(collections: Sequence[Collection], use: np.ndarray) -> dict[str, Floats]:
    rows = {some.name: np.zeros((len(some.known), 3)) for some in collections}
    for fold in range(FOLDS):
        weights = fitted([some.without(fold) for some in collections], use)
        for some in collections:
            rows[some.name][folds(some.known) == fold] = figures(some.only(fold), weights)
    return rows


def collections_of(given: argparse.Namespace) -> list[Collection]:
    """Asks every question of the three collections."""
    data = load(given.locomo, given.corrections)
    spoken = [
        (one.text, [f"{id_}.md" for id_ in one.documents], str(one.conversation)) for one in data.questions
    ]
    near = [one.category == ADVERSARIAL for one in data.questions]
    written = [
        (one.question, [one.target], one.target.split("/")[1])
        for one in load_questions(given.questions).questions
    ]
    file = load_questions(NOTES / "questions.yaml")
    noted = [(one.question, [one.target], one.target) for one in file.questions]
    silent = [(one.question, (), "") for one in file.controls]
    found = []
    with session_index(data, LocalEmbedder(given.model, Truncated()), chunker=LineChunker()) as index:
        known = ask(spoken, index, "LoCoMo")
        known = [replace(one, near=miss) for one, miss in zip(known, near, strict=True)]
        found.append(Collection("LoCoMo", 5, 10, known, ask(_strangers(written[::6]), index, "others")))
    for name, folder, questions, others, unanswered in (
        ("folder", given.folder, written, spoken[::4], ()),
        ("notes", NOTES, noted, written[::8], silent),
    ):
        index_folder(folder, LocalEmbedder(given.model))
        with wb.open_index(folder) as index:
            known, far = ask(questions, index, name), ask(_strangers(others), index, "others")
            found.append(Collection(name, 6, 6, known, far, ask(unanswered, index, "unanswered")))
    return found


def _strangers(
    questions: Sequence[tuple[str, Sequence[str], str]],
) -> list[tuple[str, Sequence[str], str]]:
    return [(question, (), "") for question, _, _ in questions]


def main() -> None:
    """Reads the collections, cross-validates, and prints or writes the weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("locomo", type=Path)
    parser.add_argument("corrections", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--model", default=PACKAGED_MODEL, help="a local model, by its name or folder")
    parser.add_argument("--keep-score", action="store_true")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    collections = collections_of(given)
    validated(collections)
    nested(collections)
    results = judged(collections)
    floor = floor_of(list(results.values()))
    for name, one in results.items():
        told(name, one, floor)
    text = written_out(collections, floor, LocalEmbedder(given.model), given.keep_score)
    print(text)
    if given.write:
        FILE.write_text(text + "\n", encoding="utf-8")


def written_out(
    collections: Sequence[Collection], floor: float, embedder: LocalEmbedder, keep_score: bool
) -> str:
    """The file of weights, fitted on all questions."""
    known = np.array([WEIGHTS.score[part] for part in PARTS])
    weights = known if keep_score else fitted(collections, np.ones(len(PARTS), bool))
    made = calibration(collections)
    numbers = [made.intercept_[0], *made.coef_[0]]
    counts = ", ".join(f"{len(some.known)} of {some.name}" for some in collections)
    kept = " The weights of the score are those of an earlier fit." if keep_score else ""
    held = {
        "fitted": " ".join((__doc__ or "").split("\n\n")[2].split()) + f" Questions: {counts}.{kept}",
        "model": f"{embedder.name} {embedder.revision.partition('/')[0]}",
        "score": {part: round(float(one), 4) for part, one in zip(PARTS, weights, strict=True)},
        "answerable": {name: round(float(one), 4) for name, one in zip(FEATURES, numbers, strict=True)},
        "wrong_per_hundred": round(100 * (1 - floor), 1),
    }
    return json.dumps(held, indent=2)


if __name__ == "__main__":
    main()
