"""Redacts a case: other words, the same failure, and the proof of it by running both.

Structure, lengths, the identity and the frequency of words stay, and so do the hits and the numbers of the
legs. Vectors travel as cosines with the questions, since a vector of a model can be inverted to its text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import InputError
from workbench.lab.cases.freezing import frozen
from workbench.lab.cases.model import Case, CaseAnnotations, CaseNote, CaseSystem, Expected
from workbench.lab.cases.pseudonyms import Kind, Pseudonyms, words_of
from workbench.lab.cases.running import CaseRun, elsewhere_pipeline, run_case, run_on, with_observations
from workbench.lab.cases.systems import pipeline_of_case, system_of_case
from workbench.records import Trace
from workbench.safe_text import counted

REDACTED = (
    "Redacted: the words are not the original ones; each passage keeps the vector of its original text."
)
SEEDS = 4
KINDS: Sequence[tuple[Kind, bool]] = (
    ("words", True), ("words", False), ("prefixes", True), ("prefixes", False), ("letters", False),
)  # fmt: skip
"""The ways to replace words, the safest first, each with or without moving dates."""


@dataclass(frozen=True)
class Proof:
    """What is equal in the case before and after: its reasons, its legs' hits, scores and answers."""

    reasons: bool
    elsewhere: bool
    legs: bool
    scores: bool
    answers: bool

    @property
    def complete(self) -> bool:
        """Whether everything is equal."""
        return self.same_failure and self.legs and self.scores and self.answers

    @property
    def same_failure(self) -> bool:
        """Whether at least the failure and its reason are the same, on all systems that the case names."""
        return self.reasons and self.elsewhere

    def __str__(self) -> str:
        parts = {
            "the fate and stage of each question": self.reasons,
            "the verdict on the other systems": self.elsewhere,
            "the hits of each leg with their numbers": self.legs,
            "the score and fate of each candidate": self.scores,
            "the answers in their order": self.answers,
        }
        return "\n".join(f"{'same' if same else 'DIFFERENT'}: {what}" for what, same in parts.items())


@dataclass(frozen=True)
class Redaction:
    """A redacted case, the proof that it shows the same failure, and what may still identify somebody."""

    case: Case
    proof: Proof
    kind: Kind
    remains: tuple[str, ...]


def redacted(case: Case, folder: Path | None = None) -> Redaction:
    """The case in other words, proved by running both.

    The safest way of replacing words is taken for which everything stays equal, or else the first for which
    the failure and its reason stay. Raises InputError if there is none, and for a case that cannot be run.
    """
    plain = frozen(_plain_systems(case, folder), folder)
    before = _runs(plain)
    if (
        any(one.words for one in case.questions)
        and run_case(case, folder=folder).reasons != before[0].reasons
    ):
        raise InputError(
            "The failure needs the vectors of single words. Words can be read out of these, so a redacted "
            "case does not hold them.",
            "Shrink it first (workbench case shrink), and replace the words that are left by hand.",
        )
    known = set(_vocabulary(plain))
    best: Redaction | None = None
    for (kind, dates), seed in product(KINDS, range(SEEDS)):
        names = Pseudonyms(kind, dates, seed, taken=known)
        made = _replaced(plain, names)
        proof = _proved(before, _runs(made), names)
        if proof.complete or (proof.same_failure and best is None):
            best = Redaction(_observed(made), proof, kind, tuple(_remains(plain, names)))
        if proof.complete:
            break
    if best is None:
        raise InputError(
            "With other words the case fails in another way, so it cannot be redacted.",
            "Shrink it first (workbench case shrink), and replace the words that are left by hand.",
        )
    return best


def _plain_systems(case: Case, folder: Path | None) -> Case:
    """The case with each configuration of OpenClaw as a release with settings, without its other keys."""

    def plain(system: CaseSystem) -> CaseSystem:
        return system if system.openclaw is None else system_of_case(pipeline_of_case(system, folder))

    elsewhere = [one.model_copy(update={"system": plain(one.system)}) for one in case.elsewhere]
    return case.model_copy(update={"system": plain(case.system), "elsewhere": elsewhere})


def _runs(case: Case) -> list[CaseRun]:
    pipelines = [pipeline_of_case(case.system), *map(elsewhere_pipeline, case.elsewhere)]
    return run_on(case, pipelines)


def _observed(case: Case) -> Case:
    (run,) = run_on(case, [pipeline_of_case(case.system)])
    return with_observations(run)


def _vocabulary(case: Case) -> Iterator[str]:
    for note in case.memory.notes or ():
        yield from words_of(note.whole)
        yield from words_of(note.path)
    for question in case.questions:
        yield from words_of(question.question)


def _replaced(case: Case, names: Pseudonyms) -> Case:
    questions = [
        one.model_copy(
            update={
                "question": names.text(one.question),
                "expect": _expected(one.expect, names),
                "observed": None,
            }
        )
        for one in case.questions
    ]
    notes = [_note(one, names) for one in case.memory.notes or ()]
    return case.model_copy(
        update={
            "title": f"{case.system.called}: a redacted case",
            "note": REDACTED,
            "questions": questions,
            "memory": case.memory.model_copy(update={"notes": notes}),
        }
    )


def _note(note: CaseNote, names: Pseudonyms) -> CaseNote:
    changed: dict[str, Any] = {"path": names.path(note.path)}
    if note.text is not None:
        changed["text"] = names.text(note.text)
    else:
        changed["passages"] = [
            one.model_copy(
                update={"text": names.text(one.text), "annotations": _annotations(one.annotations, names)}
            )
            for one in note.passages or ()
        ]
    return note.model_copy(update=changed)


def _annotations(said: CaseAnnotations | None, names: Pseudonyms) -> CaseAnnotations | None:
    if said is None:
        return None
    words = {"triggers": said.triggers, "projects": said.projects}
    return said.model_copy(update={name: text and names.text(text) for name, text in words.items()})


def _expected(expected: Expected, names: Pseudonyms) -> Expected:
    def path(given: str | None) -> str | None:
        return None if given is None else names.path(given)

    order = None if expected.order is None else [names.path(one) for one in expected.order]
    changed = {"found": path(expected.found), "not_found": path(expected.not_found), "order": order}
    return expected.model_copy(update=changed)


# The proof


def _proved(before: Sequence[CaseRun], after: Sequence[CaseRun], names: Pseudonyms) -> Proof:
    mine, *theirs = before
    new, *others = after
    pairs = [
        (old.trace, made.trace)
        for run, again in zip(before, after, strict=True)
        for old, made in zip(run.answers, again.answers, strict=True)
    ]
    return Proof(
        mine.reasons == new.reasons,
        [one.holds for one in theirs] == [one.holds for one in others],
        all(_legs(old, names) == _legs(made, None) for old, made in pairs),
        all(_scores(old, names) == _scores(made, None) for old, made in pairs),
        all([names.path(one) for one in old.paths()] == made.paths() for old, made in pairs),
    )


def _place(path: str, names: Pseudonyms | None) -> str:
    return path if names is None else names.path(path)


def _legs(trace: Trace, names: Pseudonyms | None) -> Any:
    """Each leg's hits: place and number, equal numbers in the order of the places."""
    by_row = {int(row): chunk for row, chunk in zip(trace.rows, trace.chunks, strict=True)}
    return {
        leg.name: sorted(
            (round(float(raw), 9), _place(by_row[int(row)].path, names), by_row[int(row)].start_line)
            for row, raw in zip(leg.hits.rows, leg.hits.raw, strict=True)
            if int(row) in by_row
        )
        for leg in trace.legs.values()
    }


def _scores(trace: Trace, names: Pseudonyms | None) -> Any:
    """Each candidate's place, numbers and fate, without its position among equals."""
    return sorted(
        (
            _place(one.chunk.path, names),
            one.chunk.start_line,
            [round(value, 9) for value in one.numbers.values() if not np.isnan(value)][-1:],
            one.drop.stage.slot if one.drop else "",
        )
        for one in trace.candidates
    )


# What remains


def _remains(case: Case, names: Pseudonyms) -> Iterator[str]:
    """What may still identify somebody, for a person to decide."""
    notes = case.memory.notes or ()
    whole = "\n".join(one.whole for one in notes)
    yield f"the number of notes ({len(notes)}), their folders, and the lengths of words, lines and notes"
    counts = Counter(names.images[word] for word in words_of(whole) if word in names.images)
    for word, count in counts.most_common(1):
        yield f"how often each word occurs: the most frequent one is “{word}”, {counted(count, 'time')}"
    if names.kept:
        yield f"{len(names.kept)} function words and operators, such as {', '.join(sorted(names.kept)[:5])}"
    if names.moved:
        yield f"{len(names.moved)} dates: all are moved by the same number of days, so the days between stay"
    if names.unchanged:
        yield f"words that could not be replaced: {', '.join(sorted(names.unchanged))}"
    if names.kind == "prefixes":
        yield "common beginnings of words stay common, since the system searches for beginnings"
    if names.kind == "letters":
        yield "LETTERS ARE EXCHANGED ONE FOR ONE, which is easy to undo; no other way keeps this failure"
    if any(not one.isascii() and one.isalpha() for one in whole):
        yield "the scripts, and so the languages, of the notes"
    if "@" in whole or "://" in whole:
        yield "the form of addresses (such as a@b.c), with other words in them"
    for name, said in (("known_bug", case.known_bug), ("references", ", ".join(case.references))):
        if said:
            yield f"{name} is not changed: {said}"
    model, system = case.model.name, case.system.called
    yield f"the names of the model ({model}) and the system ({system}), and all versions"
