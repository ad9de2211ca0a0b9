"""Fits the weights of the signs of a question: `python -m benchmarks.proposing [--texts FOLDER]`.

It learns from the told reports and the forms of the tests, and with `--texts` from the posts of
`reports_once.yaml`, whose texts are not kept here. A logistic regression gives a weight to each sign, with a
penalty for what differs from the present one. The figures are those of projects that were left out, one in
twenty at a time. The weights are printed as `words.toml` has them. The bias is lowered by a margin, so that a
report without a question keeps having none.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from benchmarks.reports import corpus, once
from benchmarks.reports import told as told_later
from workbench_plugins.reproduce.pasted import lines_of
from workbench_plugins.reproduce.questions import CERTAIN, OFFERED
from workbench_plugins.reproduce.report_patterns import WORDS
from workbench_plugins.reproduce.spans import Span, spans_of

FORMS = Path(__file__).parent.parent / "tests" / "reproduce" / "forms.yaml"
MARGIN, FOLDS, PENALTY, STEPS = 0.3, 20, 30.0, 30
RIGHT, WRONG, KEPT = 2.0, 6.0, 3.0
"""How much the questions and the other spans of a report weigh, and a report whose text is kept here."""


class Example(NamedTuple):
    """A report: its project, its spans, which are asked, which are not known, and what it weighs."""

    project: str
    spans: list[Span]
    asked: set[str]
    known: bool
    weight: float


def examples(folder: Path | None) -> list[Example]:
    """The reports with their spans."""
    forms: dict[str, Any] = yaml.safe_load(FORMS.read_text(encoding="utf-8"))
    told = [
        Example(name, spans_of(lines_of(one["text"])), {one["question"]} - {""}, not one["question"], KEPT)
        for name, one in forms.items()
        if "question" in one
    ]
    for reports, weight in ((corpus() + told_later(), KEPT), (once(folder) if folder else [], 1.0)):
        for one in reports:
            asked = {*one.facts["question"], *one.facts["question that works"]}
            told.append(Example(one.project, spans_of(lines_of(one.text)), asked, True, weight))
    return told


def fitted(
    signs: NDArray[Any], asked: NDArray[Any], weights: NDArray[Any], before: NDArray[Any]
) -> NDArray[Any]:
    """The weights of the signs that make these spans the likeliest, the bias first (Newton's method).

    They stay near those `before`, which were fitted to posts whose texts are not at hand.
    """
    found = before.copy()
    penalty = np.full(signs.shape[1], PENALTY)
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-signs @ found))
        slope = signs.T @ (weights * (likely - asked)) + penalty * (found - before)
        curve = (signs * (weights * likely * (1 - likely))[:, None]).T @ signs + np.diag(penalty)
        found -= np.linalg.solve(curve, slope)
    return found


def main() -> None:
    """Prints the figures of the projects that are left out, and the weights."""
    folder = Path(sys.argv[sys.argv.index("--texts") + 1]) if "--texts" in sys.argv else None
    told = examples(folder)
    names = [one for one in WORDS["weights"] if one != "bias"]
    rows = [(nth, span) for nth, one in enumerate(told) for span in one.spans]
    signs = np.array([[1.0, *(name in span.signs for name in names)] for _, span in rows])
    asked = np.array([span.text in told[nth].asked for nth, span in rows], dtype=float)
    weights = np.array([_weight(told[nth], span) for nth, span in rows])
    projects = sorted({one.project for one in told})
    fold = np.array([projects.index(told[nth].project) % FOLDS for nth, _ in rows])
    before = np.array([WORDS["weights"]["bias"] + MARGIN, *(WORDS["weights"][one] for one in names)])
    scores = np.zeros(len(rows))
    for nth in range(FOLDS):
        out = fold == nth
        scores[out] = signs[out] @ fitted(signs[~out], asked[~out], weights[~out], before)
    print(_figures(told, rows, scores - MARGIN))
    found = fitted(signs, asked, weights, before)
    print(f"bias = {found[0] - MARGIN:.1f}")
    for name, weight in sorted(zip(names, found[1:], strict=True), key=lambda pair: -pair[1]):
        print(f'"{name}" = {weight:.1f}' if " " in name else f"{name} = {weight:.1f}")


def _weight(one: Example, span: Span) -> float:
    """What a span weighs: a report with many spans weighs little more than one with few."""
    count = sum(each.text in one.asked for each in one.spans)
    if span.text in one.asked:
        return one.weight * RIGHT / float(np.sqrt(count))
    return one.weight * min(1.0, WRONG / (len(one.spans) - count)) * one.known


def _figures(told: Sequence[Example], rows: Sequence[tuple[int, Span]], scores: NDArray[Any]) -> str:
    """How many questions come first, stand among those that are offered, and are invented."""
    by_report: dict[int, list[tuple[float, int, Span]]] = {}
    for (nth, span), score in zip(rows, scores, strict=True):
        by_report.setdefault(nth, []).append((-min(float(score), CERTAIN), span.line.number, span))
    first = offered = invented = 0
    for nth, one in enumerate(told):
        best = sorted(by_report.get(nth, []), key=lambda row: (*row[:2], row[2].place))
        texts = list(dict.fromkeys(span.text for _, _, span in best))
        read = bool(best) and best[0][0] < 0
        first += read and texts[0] in one.asked
        offered += bool(one.asked & set(texts[:OFFERED]))
        invented += read and not one.asked
    have = sum(bool(one.asked) for one in told)
    return (
        f"{len(told)} reports: a true question first in {first} of {have}, among {OFFERED} in {offered}; "
        f"invented in {invented} of {len(told) - have}"
    )


if __name__ == "__main__":
    main()
