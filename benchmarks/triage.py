"""How often triage is right on public issues: `python -m benchmarks.triage [--choose]`.

The issues are split by a checksum of their references. Margin and floor are chosen on one half (--choose
prints several), and the figures are those of the other half. Title and body are asked apart, too.
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
        every.append(Issue(title, body.strip(), fits, hashlib.sha256(name.encode()).digest()[0] % 2 == 0))
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


def main() -> None:
    """Prints the figures of the half that is reported, or of the other one for several margins."""
    embedder = LocalEmbedder()
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
