"""Shrinks a case while its failure stays, and its reason: the same fate at the same stage.

The parts are taken away in this order: questions, changes and settings, notes, passages, lines, words. After
each step the case is smaller and still fails, so an interrupted run can be continued.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import InputError, WorkbenchError
from workbench.lab.cases.ddmin import smallest
from workbench.lab.cases.files import CaseFile, case_text, replace_text
from workbench.lab.cases.freezing import frozen, in_passages, in_texts, with_notes, with_questions
from workbench.lab.cases.model import Case, CaseNote
from workbench.lab.cases.running import elsewhere_pipeline, run_on, with_observations
from workbench.lab.cases.systems import pipeline_of_case
from workbench.progress import progress_bar
from workbench.safe_text import counted

SHRUNK = "Shrunk: each passage keeps the vector of its original text."
MOST_ROUNDS = 5
LINES, WORDS = re.compile(r"[^\n]+\n*"), re.compile(r"\S+\s*")

Reason = tuple[bool, str, str]


class Verdicts(NamedTuple):
    """The reason of each question, and whether the case holds on each other system that it names.

    `chunks` are the chunks that decide on each system, with the legs that brought them, or are empty.
    """

    reasons: tuple[Reason, ...]
    elsewhere: tuple[bool, ...]
    chunks: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...] = ()


def verdicts(case: Case, folder: Path | None = None, chunks: bool = False) -> Verdicts:
    """The case on its own system and on those that it names. Raises InputError if it cannot be run."""
    own = pipeline_of_case(case.system, folder)
    others = [elsewhere_pipeline(one, folder) for one in case.elsewhere]
    mine, *theirs = run_on(case, [own, *others], folder=folder)
    every = [mine, *theirs] if chunks else []
    deciding = tuple(tuple(one.deciding for one in run.answers) for run in every)
    return Verdicts(mine.reasons, tuple(one.holds for one in theirs), deciding)


@dataclass
class Shrinking:
    """A case that is being shrunk: `now` always fails as it did at the beginning."""

    now: Case
    wanted: Verdicts
    folder: Path | None
    kept: Callable[[Case], None]
    bar: Any

    def fails(self, case: Case, wanted: Verdicts | None = None) -> bool:
        """Whether a case fails as wanted; a case that cannot be run does not."""
        self.bar.update()
        wanted = wanted or self.wanted
        try:
            return verdicts(case, self.folder, bool(wanted.chunks)) == wanted
        except WorkbenchError:
            return False

    def take(self, case: Case) -> None:
        """Takes a case that fails as wanted for the present one."""
        self.now = case
        notes = counted(len(case.memory.notes or ()), "note")
        self.bar.set_postfix_str(f"{notes}, {counted(case.words, 'word')}")
        self.kept(case)

    def try_to_take(self, case: Case) -> bool:
        """Takes a case if it fails as wanted."""
        fails = case != self.now and self.fails(case)
        if fails:
            self.take(case)
        return fails


def shrunk(
    case: Case, folder: Path | None = None, kept: Callable[[Case], None] = lambda _: None, quiet: bool = False
) -> Case:
    """The smallest case that still fails for the same reason, also on the other systems that it names.

    `kept` is called with the case after each step. Raises InputError for a case in which nothing fails, and
    for one that does not do on another system what it states.
    """
    wanted = verdicts(case, folder, chunks=True)
    if all(holds for holds, _, _ in wanted.reasons):
        raise InputError(
            "Every expectation of the case holds, so there is no failure to shrink.",
            "Correct the expectation, or the system.",
        )
    if wanted.elsewhere != tuple(one.holds for one in case.elsewhere):
        raise InputError(
            "On another system the case does not do what it states under elsewhere.",
            "See what it does: workbench case run FILE --system NAME",
        )
    with progress_bar(desc="shrinking", unit=" runs", disable=True if quiet else None) as bar:
        work = Shrinking(case, wanted, folder, kept, bar)
        _freeze(work)
        _questions(work)
        _changes(work)
        _question_words(work)
        for _ in range(MOST_ROUNDS):
            before = work.now
            for step in (_notes, _passages, _lines, _words):
                step(work)
            if work.now == before:
                break
        _plain(work)
        return _finished(work)


def shrink_file(file: CaseFile, quiet: bool = False) -> Case:
    """Shrinks a case in its file, after each step; the original is kept beside it, with `.original` added.

    An interrupted run is continued by calling this again: an original that is there already stays.
    """
    original = original_of(file.path)
    if not original.exists():
        replace_text(original, file.path.read_text(encoding="utf-8"))

    def kept(case: Case) -> None:
        replace_text(file.path, case_text(case))

    made = shrunk(file.case, file.folder, kept, quiet)
    kept(made)
    return made


def original_of(path: Path) -> Path:
    """Where the original of a shrunk case is kept; pytest does not collect it."""
    return path.with_name(f"{path.name}.original")


# The steps


def _freeze(work: Shrinking) -> None:
    """Vectors inside, and each passage on its own, if the case then still fails as it did."""
    if work.now.model.vectors != "cosines" or work.now.memory.folder is not None:
        work.try_to_take(frozen(work.now, work.folder)) or work.try_to_take(
            frozen(work.now, work.folder, cosines=False)
        )
    if any(note.text is not None and note.vectors for note in work.now.memory.notes or ()):
        work.try_to_take(in_passages(work.now))


def _questions(work: Shrinking) -> None:
    failing = [number for number, (holds, _, _) in enumerate(work.wanted.reasons) if not holds]

    def only(numbers: Sequence[int]) -> tuple[Case, Verdicts]:
        chosen = with_questions(work.now, [work.now.questions[number] for number in numbers])
        wanted = Verdicts(
            tuple(work.wanted.reasons[number] for number in numbers),
            work.wanted.elsewhere,
            tuple(tuple(of_run[number] for number in numbers) for of_run in work.wanted.chunks),
        )
        return chosen, wanted

    for numbers in ([failing[0]], failing):
        if len(numbers) < len(work.now.questions):
            case, wanted = only(numbers)
            if work.fails(case, wanted):
                work.wanted = wanted
                work.take(case)
                return


def _changes(work: Shrinking) -> None:
    for name in ("changes", "settings"):
        items: list[str] = getattr(work.now.system, name)

        def with_items(some: Sequence[str], name: str = name) -> Case:
            return work.now.model_copy(
                update={"system": work.now.system.model_copy(update={name: list(some)})}
            )

        if items:
            work.try_to_take(
                with_items(smallest(items, lambda some, make=with_items: work.fails(make(some))))  # type: ignore[misc]
            )


def _notes(work: Shrinking) -> None:
    notes = work.now.memory.notes or []
    found = smallest(notes, lambda some: bool(some) and work.fails(with_notes(work.now, some)))
    if len(found) < len(notes):
        work.take(with_notes(work.now, found))


class TextPart(NamedTuple):
    """A part of a case's notes: a passage, line or word, with the note and the passage that it is in."""

    note: int
    passage: int
    text: str


def _passages(work: Shrinking) -> None:
    notes = work.now.memory.notes or []
    pieces = [TextPart(n, p, "") for n, note in enumerate(notes) for p in range(len(note.passages or ()))]

    def only(some: Sequence[TextPart]) -> Case:
        wanted = {(one.note, one.passage) for one in some}
        return with_notes(
            work.now,
            [
                note
                if note.passages is None
                else note.model_copy(
                    update={"passages": [one for p, one in enumerate(note.passages) if (n, p) in wanted]}
                )
                for n, note in enumerate(notes)
            ],
        )

    if pieces:
        found = smallest(pieces, lambda some: bool(some) and work.fails(only(some)))
        if len(found) < len(pieces):
            work.take(only(found))


def _lines(work: Shrinking) -> None:
    _texts(work, LINES)


def _words(work: Shrinking) -> None:
    _texts(work, WORDS)


def _question_words(work: Shrinking) -> None:
    """All words at once but those of the questions: what is left is easy to shrink."""
    asked = {word.lower() for one in work.now.questions for word in re.findall(r"\w+", one.question)}
    pieces = _pieces(work.now, WORDS)
    matching = [one for one in pieces if asked & {word.lower() for word in re.findall(r"\w+", one.text)}]
    work.try_to_take(_only(work.now, [])) or work.try_to_take(_only(work.now, matching))


def _texts(work: Shrinking, kind: re.Pattern[str]) -> None:
    """Takes lines or words out of all texts; the first word of each text stays."""
    case = work.now
    found = smallest(_pieces(case, kind), lambda some: work.fails(_only(case, some)))
    work.try_to_take(_only(case, found))


def _pieces(case: Case, kind: re.Pattern[str]) -> list[TextPart]:
    return [
        TextPart(number, passage, text)
        for number, note in enumerate(case.memory.notes or ())
        for passage, whole in _texts_of(note)
        for text in kind.findall(whole)
    ]


def _only(case: Case, some: Sequence[TextPart]) -> Case:
    """The case with these parts of its texts alone."""
    texts: dict[tuple[int, int], str] = {}
    for one in some:
        texts[one.note, one.passage] = texts.get((one.note, one.passage), "") + one.text
    return with_notes(case, [_with_texts(note, n, texts) for n, note in enumerate(case.memory.notes or ())])


def _texts_of(note: CaseNote) -> Iterator[tuple[int, str]]:
    if note.passages is None:
        yield 0, note.text or ""
    else:
        yield from ((p, one.text) for p, one in enumerate(note.passages))


def _with_texts(note: CaseNote, number: int, texts: dict[tuple[int, int], str]) -> CaseNote:
    def text(passage: int, old: str) -> str:
        first = re.search(r"\w+", old) or re.search(r"\S+", old)
        return texts.get((number, passage), "").strip() or (first[0] if first else old)

    if note.passages is None:
        return note.model_copy(update={"text": text(0, note.text or "")})
    passages = [one.model_copy(update={"text": text(p, one.text)}) for p, one in enumerate(note.passages)]
    return note.model_copy(update={"passages": passages})


def _plain(work: Shrinking) -> None:
    """Notes of one passage become texts, which are easier to read; their lines then count from 1."""
    work.wanted = work.wanted._replace(chunks=())
    work.try_to_take(with_notes(work.now, [in_texts(one) for one in work.now.memory.notes or ()]))


def _finished(work: Shrinking) -> Case:
    """The case with its observations made again, and a note that says where its vectors come from."""
    case = work.now
    (run,) = run_on(case, [pipeline_of_case(case.system, work.folder)], folder=work.folder)
    note = case.note if SHRUNK in case.note else f"{case.note} {SHRUNK}".strip()
    return with_observations(run).model_copy(update={"note": note})
