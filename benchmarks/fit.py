"""Fit the weights of `recommended` on LoCoMo and on a folder with questions, and cross-validate them.

    python benchmarks/fit.py locomo.json corrections.json FOLDER QUESTIONS.yaml --write

The score is a conditional logit over the files that a question brings: the weights make the right file the
likeliest. `answerable` is a logistic regression: what the best files have for each question, against what
they have when the right files are taken out (near misses), and for the questions of the other collection.
Both collections count equally. LoCoMo is cross-validated by conversation, the folder by subfolder.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from tqdm.auto import tqdm

import workbench as wb
from workbench.contracts import Index
from workbench.lab.bench.basic_memory import session_index
from workbench.lab.bench.locomo import load
from workbench.lab.questions import load_questions
from workbench.memory.chunking import LineChunker
from workbench.memory.embedding.local import LocalEmbedder, Truncated
from workbench.memory.sync import index_folder
from workbench.records import Floats, Trace
from workbench.retrieval.passages.silence import FEATURES, RIVALS
from workbench.retrieval.pipeline import search
from workbench.systems.recommended.pipelines import RECOMMENDED
from workbench.systems.recommended.weights import FILE

PARTS = ("vector", "keyword", "file", "title", "late")
FOLDS = 5
SHRINKING = 1e-3


@dataclass(frozen=True)
class Asked:
    """What one question brings: for each file the parts of its score, and whether it is right."""

    parts: Floats
    right: np.ndarray
    truth: int
    group: str


def asked(trace: Trace, truth: Sequence[str], group: str) -> Asked:
    """The best candidate of each file by each part of the score."""
    files, owner = np.unique([chunk.path for chunk in trace.chunks], return_inverse=True)
    columns = np.stack([trace.columns[f"{part}_score"] for part in PARTS], axis=1)
    best = np.full((files.size, len(PARTS)), -np.inf)
    np.maximum.at(best, owner, columns)
    return Asked(best, np.isin(files, list(truth)), len(truth), group)


def ask(questions: Sequence[tuple[str, Sequence[str], str]], index: Index) -> list[Asked]:
    """What each question brings."""
    found = []
    for question, truth, group in tqdm(questions, desc="asking", mininterval=30):
        trace = search(question, RECOMMENDED, index)
        found.append(asked(trace, truth, group))
    return found


# The score


def fitted(collections: Sequence[Sequence[Asked]]) -> Floats:
    """The weights under which the right files are likeliest, each collection counting equally."""
    answered = [[one for one in some if one.right.any()] for some in collections]
    spread = np.concatenate([one.parts for some in collections for one in some]).std(axis=0)

    def loss(weights: Floats) -> tuple[float, Floats]:
        total, slope = 0.0, np.zeros(weights.size)
        for some in answered:
            for one in some:
                value, way = _loss(one, weights, spread)
                total, slope = total + value / len(some), slope + way / len(some)
        n = len(collections)
        return total / n + SHRINKING * weights @ weights, slope / n + 2 * SHRINKING * weights

    found = minimize(
        loss, np.full(len(PARTS), 0.1), jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(PARTS)
    )
    return np.asarray(found.x / spread)


def _loss(one: Asked, weights: Floats, spread: Floats) -> tuple[float, Floats]:
    parts = one.parts / spread
    scores = parts @ weights
    odds = np.exp(scores - scores.max())
    wrong = odds[~one.right]
    total, slope = 0.0, np.zeros(weights.size)
    for place in np.flatnonzero(one.right):
        mass = wrong.sum() + odds[place]
        total -= np.log(odds[place] / mass)
        slope += (wrong @ parts[~one.right] + odds[place] * parts[place]) / mass - parts[place]
    return total / one.right.sum(), slope / one.right.sum()


def figures(some: Sequence[Asked], weights: Floats, k: int, limit: int) -> Floats:
    """Evidence recall@k, MRR within the limit, and any hit within k."""
    rows = []
    for one in some:
        # A wrong file with the same score is put first: ties count against us.
        order = np.lexsort((one.right, -(one.parts @ weights)))
        places = np.flatnonzero(one.right[order])
        recall = np.count_nonzero(places < k) / one.truth if one.truth else 0.0
        first = places[0] if places.size else limit
        rows.append((recall, 1 / (1 + first) if first < limit else 0.0, float(first < k)))
    return np.mean(rows, axis=0)


def folds(some: Sequence[Asked]) -> Floats:
    """The fold of each question: groups are dealt out by size."""
    groups = sorted({one.group for one in some}, key=lambda name: (-sum(x.group == name for x in some), name))
    dealt = {name: place % FOLDS for place, name in enumerate(groups)}
    return np.array([dealt[one.group] for one in some])


# Silence


def evidence(one: Asked, weights: Floats, without: bool = False) -> list[float]:
    """What `answerable` looks at, with the right files or without them."""
    keep = ~one.right if without else np.ones(one.right.size, bool)
    parts = one.parts[keep]
    if not parts.size:
        return [0.0] * (len(FEATURES) - 1)
    scores = np.sort(parts @ weights)[::-1]
    lead = scores[0] - scores[1 : 1 + RIVALS].mean() if scores.size > 1 else 0.0
    return [parts[:, PARTS.index("late")].max(), lead]


def calibration(
    collections: Sequence[Sequence[Asked]], strangers: Sequence[Sequence[Asked]], weights: Floats
) -> LogisticRegression:
    """Yes: each question. No, half and half: each without its right files, and those of other collections."""
    rows, yes, mass = [], [], []
    for some, strange in zip(collections, strangers, strict=True):
        known = [one for one in some if one.right.any()]
        for group, answer, share in (
            ([evidence(one, weights) for one in known], 1, 1.0),
            ([evidence(one, weights, without=True) for one in known], 0, 0.5),
            ([evidence(one, weights) for one in strange], 0, 0.5),
        ):
            rows += group
            yes += [answer] * len(group)
            mass += [1000 * share / max(1, len(group))] * len(group)
    return LogisticRegression(C=1e4, max_iter=5000).fit(rows, yes, sample_weight=mass)


def told(
    name: str, some: Sequence[Asked], strange: Sequence[Asked], weights: Floats, made: LogisticRegression
) -> None:
    """Prints what each floor costs, and the reliability of the probabilities."""

    def chances(rows: list[list[float]]) -> Floats:
        return np.asarray(made.predict_proba(rows)[:, 1])

    known = [one for one in some if one.right.any()]
    hit = np.array([one.right[np.argsort(-(one.parts @ weights))[:6]].any() for one in known])
    yes = chances([evidence(one, weights) for one in known])
    near = chances([evidence(one, weights, without=True) for one in known])
    far = chances([evidence(one, weights) for one in strange])
    for floor in (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        print(
            f"  {name:<8} {floor:.2f}: lost {np.mean(hit & (yes < floor)):.3f} of the right answers, silent "
            f"on near misses {np.mean(near < floor):.2f}, on strangers {np.mean(far < floor):.2f}"
        )
    both, truth = np.r_[yes, near], np.r_[np.ones(yes.size), np.zeros(near.size)]
    for low in np.arange(0, 1, 0.1):
        inside = (both >= low) & (both < low + 0.1)
        if inside.any():
            print(
                f"  {name:<8} said {both[inside].mean():.2f}, was {truth[inside].mean():.2f} "
                f"({inside.sum()} answers)"
            )


def main() -> None:
    """Reads both collections, cross-validates, and prints or writes the weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("locomo", type=Path)
    parser.add_argument("corrections", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    data = load(given.locomo, given.corrections)
    spoken = [
        (one.text, [f"{id_}.md" for id_ in one.documents], str(one.conversation)) for one in data.questions
    ]
    written = [
        (one.question, [one.target], one.target.split("/")[1])
        for one in load_questions(given.questions).questions
    ]
    with session_index(data, LocalEmbedder(reading=Truncated()), chunker=LineChunker()) as index:
        talk = ask(spoken, index)
        stranger_talk = ask([(question, (), "") for question, _, _ in written[::6]], index)
    index_folder(given.folder)
    with wb.open_index(given.folder) as index:
        docs = ask(written, index)
        stranger_docs = ask([(question, (), "") for question, _, _ in spoken[::4]], index)
    validated(talk, docs)
    weights = fitted([talk, docs])
    made = calibration([talk, docs], [stranger_talk, stranger_docs], weights / weights.sum())
    told("LoCoMo", talk, stranger_talk, weights / weights.sum(), made)
    told("folder", docs, stranger_docs, weights / weights.sum(), made)
    embedder = LocalEmbedder()
    text = json.dumps(
        {
            "fitted": __doc__.split("\n\n")[2].replace("\n", " ") + f" {len(talk)} questions over "
            f"{len(data.documents)} sessions of LoCoMo, {len(docs)} over a folder of documentation.",
            "model": f"{embedder.name} {embedder.revision.partition('/')[0]}",
            "score": {
                part: round(float(w), 4) for part, w in zip(PARTS, weights / weights.sum(), strict=True)
            },
            "answerable": dict(
                zip(
                    FEATURES,
                    [round(float(made.intercept_[0]), 4), *made.coef_[0].round(4).tolist()],
                    strict=True,
                )
            ),
        },
        indent=2,
    )
    print(text)
    if given.write:
        FILE.write_text(text + "\n", encoding="utf-8")


def validated(talk: Sequence[Asked], docs: Sequence[Asked]) -> None:
    """Prints the cross-validated figures: each fold is measured with weights that have not seen it."""
    talks, docses = folds(talk), folds(docs)
    sums = np.zeros((2, 3))
    for fold in range(FOLDS):
        weights = fitted(
            [
                [one for one, at in zip(some, ats, strict=True) if at != fold]
                for some, ats in ((talk, talks), (docs, docses))
            ]
        )
        for row, (some, ats, k, limit) in enumerate(((talk, talks, 5, 10), (docs, docses, 6, 6))):
            held = [one for one, at in zip(some, ats, strict=True) if at == fold]
            sums[row] += figures(held, weights, k, limit) * len(held) / len(some)
    print(
        f"cross-validated, LoCoMo: evidence recall@5 {sums[0, 0]:.4f}, MRR {sums[0, 1]:.4f}, "
        f"any hit {sums[0, 2]:.4f}"
    )
    print(f"cross-validated, folder: hit within six {sums[1, 0]:.4f}, MRR {sums[1, 1]:.4f}")


if __name__ == "__main__":
    main()
