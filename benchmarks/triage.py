"""How often triage is right on public issues: `python -m benchmarks.triage [--choose | --rates]`.

The issues are split by a checksum of their references. Margin and floor are chosen on one half (--choose
prints several), and the figures are those of the other half. Title and body are asked apart, too. --rates
leaves out one project at a time: the lowest score from which 19 of 20 of the others are right is what is
called clear, and the project is judged by it.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import NamedTuple

import yaml

from workbench.memory.embedding.local import LocalEmbedder
from workbench_plugins.diagnose import triage

TESTS = Path(__file__).parent.parent / "tests"


class Issue(NamedTuple):
    """An issue: its title and body, the symptoms that are right, and the half that it belongs to."""

    project: str
    title: str
    body: str
    fits: list[str]
    chosen_on: bool


def issues() -> list[Issue]:
    """The issues of the tests."""
    told = yaml.safe_load((TESTS / "lab/triage/reports.yaml").read_text(encoding="utf-8"))
    known = yaml.safe_load((TESTS / "reproduce/reports.yaml").read_text(encoding="utf-8"))
    found = {name: (known[name]["text"], fits) for name, fits in told["reports"].items()}
    found |= {name: (one["text"], one.get("fits", [])) for name, one in told["others"].items()}
    every = []
    for name, (text, fits) in found.items():
        title, _, body = text.lstrip("# ").partition("\n")
        half = hashlib.sha256(name.encode()).digest()[0] % 2 == 0
        every.append(Issue(name.partition("#")[0].lower(), title, body.strip(), fits, half))
    return every


def figures(every: list[Issue], part: str, embedder: LocalEmbedder) -> str:
    """How many are right, of the issues that have this part."""
    texts = {
        "title": lambda one: one.title,
        "body": lambda one: one.body,
        "both": lambda one: f"{one.title}\n{one.body}",
    }
    asked = [(one, texts[part](one)) for one in every if texts[part](one)]
    answers = [(one, triage.triage(text, embedder)) for one, text in asked]
    about = [(one, told) for one, told in answers if one.fits]
    known = sum(told.known for _, told in about)
    first = sum(told.known and told.fits[0].symptom.name in one.fits for one, told in about)
    three = sum(
        told.known and bool({fit.symptom.name for fit in told.fits} & set(one.fits)) for one, told in about
    )
    refused = sum(not told.known for one, told in answers if not one.fits)
    others = len(answers) - len(about)
    return f"known {known}/{len(about)}, first {first}, among three {three}; refused {refused}/{others}"


def rates(every: list[Issue], embedder: LocalEmbedder) -> str:
    """How often what is called clear, and what is called likely, is right in a project that is left out."""
    judged = []
    for one in every:
        told = triage.triage(f"{one.title}\n{one.body}".strip(), embedder)
        if told.known:
            judged.append((one.project, told.fits[0].score, told.fits[0].symptom.name in one.fits))
    counts = {"clear": [0, 0], "likely": [0, 0]}
    for project, score, right in judged:
        others = [one for one in judged if one[0] != project]
        found = counts["clear" if score >= lowest(others) else "likely"]
        found[0] += right
        found[1] += 1
    projects = len({one.project for one in every})
    said = ", ".join(f"{name} right in {right} of {of}" for name, (right, of) in counts.items())
    return f"{said}; {len(every)} issues of {projects} projects"


def lowest(judged: list[tuple[str, float, bool]]) -> float:
    """The lowest score from which at least 19 of 20 are right."""
    for percent in range(50, 100):
        right = [one[2] for one in judged if one[1] >= percent / 100]
        if right and sum(right) >= 0.95 * len(right):
            return percent / 100
    return 1.0


def main() -> None:
    """Prints the figures of the half that is reported, or of the other one for several margins."""
    embedder = LocalEmbedder()
    if "--rates" in sys.argv:
        print(rates(issues(), embedder))
        return
    choose = "--choose" in sys.argv
    half = [one for one in issues() if one.chosen_on == choose]
    for margin in (-0.1, -0.05, 0.0, 0.05, 0.1) if choose else (triage.MARGIN,):
        for floor in (0.35, 0.4, 0.45, 0.5, 0.55) if choose else (triage.LIKELY,):
            triage.MARGIN, triage.LIKELY = margin, floor
            for part in ("title", "body", "both"):
                print(
                    f"margin {margin:+.2f}, floor {floor:.2f}, {part:5}: {figures(half, part, embedder)}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
