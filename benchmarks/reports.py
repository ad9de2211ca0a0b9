"""What `workbench reproduce` reads and says of labelled reports: `python -m benchmarks.reports [--all]`.

The corpus has public reports told in our words, in the form in which people write them, each with its facts,
the cause that the maintainers named, and the class of a right answer. It is split by project: the rules were
made with one part before the eyes, the other was told before it was read for the first time. `--all` prints a
line for each report. `--told` reads those of `reports_told.yaml`, and `--texts FOLDER` those of
`reports_once.yaml`, whose texts are not kept here.

A verdict is right if it is one of those that its class allows. It is false if it claims what is not so:
*Reproduced* without the true question or cause, a stand-in of another mechanism than the true one, or *Not a
relevance bug* of a bug in the ranking.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from workbench_plugins.reproduce.questions import OFFERED
from workbench_plugins.reproduce.reading import read_report
from workbench_plugins.reproduce.verdicts import Verdict, verdict_of

CORPUS = Path(__file__).with_name("reports.yaml")
TOLD = Path(__file__).parent.parent / "tests" / "reproduce" / "reports.yaml"
"""Reports that the tests have too; the corpus has their labels."""

ONCE, LATER = (Path(__file__).with_name(name) for name in ("reports_once.yaml", "reports_told.yaml"))

RIGHT = {
    "ranking": ("reproduced", "stand-in"),
    "none of its numbers shows it": ("not reproduced",),
    "index": ("not a relevance bug",),
    "designed": ("not a relevance bug",),
    "outside": ("not a relevance bug",),
    "ask": ("needs",),
}
"""The verdicts that are right for each class; asking is never false, and right for what cannot be run."""
KINDS = ("question", "question that works", "target", "engine", "release", "symptom")


@dataclass(frozen=True)
class Labelled:
    """A report: its reference, text, class, cause, facts by kind, and the mechanisms that are true of it."""

    name: str
    text: str
    kind: str
    cause: str
    facts: dict[str, list[str]]
    mechanisms: list[str] = field(default_factory=list)
    held_out: bool = False

    @property
    def project(self) -> str:
        """The project, by which the parts are split."""
        return self.name.partition("#")[0].lower()


def corpus() -> list[Labelled]:
    """The labelled reports."""
    texts: dict[str, Any] = yaml.safe_load(TOLD.read_text(encoding="utf-8"))
    labels: dict[str, Any] = yaml.safe_load(CORPUS.read_text(encoding="utf-8"))
    reports = [
        _labelled(name, one, one.get("text") or texts[name]["text"], one.get("held_out", False))
        for name, one in labels.items()
    ]
    both = {one.project for one in reports if one.held_out} & {
        one.project for one in reports if not one.held_out
    }
    if both:
        raise ValueError(f"projects in both parts: {', '.join(both)}")
    return reports


def once(folder: Path) -> list[Labelled]:
    """The reports that were read once, with their texts from a folder; those without a text are left out."""
    labels: dict[str, Any] = yaml.safe_load(ONCE.read_text(encoding="utf-8"))
    files = {name: folder / f"{one['file']}.md" for name, one in labels.items()}
    return [
        _labelled(name, labels[name], file.read_text(encoding="utf-8"), not labels[name].get("open"))
        for name, file in files.items()
        if file.exists()
    ]


def told() -> list[Labelled]:
    """The reports that were told later, in the form of other threads."""
    labels: dict[str, Any] = yaml.safe_load(LATER.read_text(encoding="utf-8"))
    return [_labelled(name, one, one["text"], not one.get("open")) for name, one in labels.items()]


def _labelled(name: str, one: dict[str, Any], text: str, held_out: bool) -> Labelled:
    return Labelled(
        name=name,
        text=text,
        kind=one["class"],
        cause=one["cause"],
        facts={kind: one.get(kind, []) for kind in KINDS},
        mechanisms=one.get("mechanisms", []),
        held_out=held_out,
    )


def is_false(report: Labelled, verdict: Verdict) -> bool:
    """Whether a verdict claims what is not so."""
    if verdict.kind == "needs":
        return False
    if verdict.kind == "not a relevance bug":
        return report.kind in ("ranking", "ask", "none of its numbers shows it")
    if verdict.kind == "not reproduced":
        return report.kind == "ranking" and verdict.case is not None
    if verdict.kind == "reproduced" and verdict.report.value("question") not in report.facts["question"]:
        return True
    shown = next((one for one in report.mechanisms if one in verdict.sentence), "")
    return report.kind != "ranking" or not shown


def figures(reports: Sequence[Labelled], verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The figures of some reports, as lines."""
    for kind in KINDS:
        read = wanted = right = 0
        for report, verdict in zip(reports, verdicts, strict=True):
            said = _said(verdict, kind)
            true = set(report.facts[kind])
            read, wanted, right = read + len(said), wanted + len(true), right + len(said & true)
        yield f"  {kind:20} read {right} of {wanted}; of {read} read, {read - right} are not in the labels"
    asked = [(one, verdict) for one, verdict in zip(reports, verdicts, strict=True) if one.facts["question"]]
    found = sum(verdict.report.value("question") in one.facts["question"] for one, verdict in asked)
    none = [
        verdict
        for one, verdict in zip(reports, verdicts, strict=True)
        if not any(map(one.facts.get, KINDS[:2]))
    ]
    invented = sum(bool(one.report.of("question")) for one in none)
    yield f"  the first question is true in {found} of {len(asked)} that have one"
    offered = sum(not set(_offered(each)).isdisjoint(one.facts["question"]) for one, each in asked)
    yield f"  it is the first one, or one of the {OFFERED} that are offered, in {offered} of {len(asked)}"
    yield f"  a question is invented in {invented} of {len(none)} that have none"
    pairs = list(zip(reports, verdicts, strict=True))
    right = sum(verdict.kind in RIGHT[one.kind] for one, verdict in pairs)
    false = [one.name for one, verdict in pairs if is_false(one, verdict)]
    yield f"  verdicts: right {right} of {len(pairs)}, false {len(false)} {false or ''}"
    yield f"  {dict(Counter((one.kind, verdict.kind) for one, verdict in pairs))}"
    clicks = [_clicks(one, verdict) for one, verdict in pairs]
    yield f"  corrections that a person needs for the facts: median {median(clicks):g}, most {max(clicks)}"


def _offered(verdict: Verdict) -> list[str]:
    """The first question, or what is offered where none was read."""
    report = verdict.report
    return [one.value for one in (report.of("question")[:1] or report.offered)]


def _said(verdict: Verdict, kind: str) -> set[str]:
    """What was read of a kind; of an engine and of what happened, its name here."""
    return {one.name if kind in ("engine", "symptom") else one.value for one in verdict.report.of(kind)}


def _clicks(report: Labelled, verdict: Verdict) -> int:
    """How many facts of a report a person has to add or to take away."""
    count = 0
    for kind in KINDS:
        count += len(set(report.facts[kind]) ^ _said(verdict, kind))
    return count


def main() -> None:
    """Prints the figures of both halves, and with --all a line for each report."""
    texts = sys.argv[sys.argv.index("--texts") + 1 :][:1] if "--texts" in sys.argv else []
    kept = told if "--told" in sys.argv else corpus
    reports = once(Path(texts[0])) if texts else kept()
    verdicts, seconds = [], []
    for one in reports:
        began = time.monotonic()
        verdicts.append(verdict_of(read_report(one.text)))
        seconds.append(time.monotonic() - began)
        if "--all" in sys.argv:
            half = "held out" if one.held_out else "made on"
            mark = "FALSE" if is_false(one, verdicts[-1]) else ""
            print(f"{one.name:42} {half:9} {one.kind:12} {verdicts[-1].kind:20} {seconds[-1]:4.1f} s {mark}")
    for held_out, said in ((False, "with which the rules were made"), (True, "held out")):
        half = [place for place, one in enumerate(reports) if one.held_out == held_out]
        if not half:
            continue
        projects = len({reports[place].project for place in half})
        print(f"{len(half)} reports of {projects} projects, {said}:")
        print("\n".join(figures([reports[one] for one in half], [verdicts[one] for one in half])))
    print(f"seconds for each report: median {median(seconds):.2f}, most {max(seconds):.2f}")


if __name__ == "__main__":
    main()
