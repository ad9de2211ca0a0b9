"""Shrinks a case while its failure stays, and its reason: the same fate at the same stage.

The parts are taken away in this order: questions, changes and settings, notes, passages, lines, sentences.
After each step the case is smaller and still fails, so an interrupted run can be continued.

Redacting and shrinking change texts. A model would give the new texts other vectors, and the failure would be
another one. So each passage keeps the vector of its original text, as its cosines with the questions.

Source of delta debugging, which finds the smallest part of a list that still shows a failure: Zeller and
Hildebrandt, Simplifying and Isolating Failure-Inducing Input, IEEE TSE 28(2), 2002.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from workbench.errors import InputError, WorkbenchError
from workbench.memory.files import replaced
from workbench.progress import progress_bar
from workbench.retrieval.query import BLANKS
from workbench.safe_text import counted
from workbench_plugins.cases.case_index import (
    chunker_of,
    cosines_alone,
    cut_note,
    notes_of,
    opened_memory,
    packed,
)
from workbench_plugins.cases.model import Case, CaseFile, CaseNote, CasePassage, VectorText, save_case
from workbench_plugins.cases.running import pipeline_of_case, run_everywhere, run_on, with_observations


def frozen(case: Case, folder: Path | None, cosines: bool = True) -> Case:
    """The case with its notes inline, and a vector for each question and each passage.

    With `cosines` the vectors have few dimensions, and only the cosines of questions with passages are kept;
    otherwise they are float32 vectors of the model. What the model has read word by word is then left out,
    since words can be read out of it.
    """
    chunker = chunker_of(case.memory)
    with opened_memory(case, folder) as index:
        cuts = [(note, cut_note(note, chunker)) for note in notes_of(case, folder)]
        asked = np.array([index.embed(one.question.strip(BLANKS)) for one in case.questions], np.float32)
        rows, vectors = index.vectors()
        chunks = zip(index.chunks(rows), vectors, strict=True)
        by_location = {(one.path, one.start_line, one.end_line, one.text): vector for one, vector in chunks}
    known = [
        by_location[note.path, one.start_line, one.end_line, one.text]
        for note, cut in cuts
        for one in cut.passages
    ]
    of_questions: Sequence[VectorText] = [packed(one, "float32") for one in asked]
    of_passages: Sequence[VectorText] = [packed(one, "float32") for one in known]
    dimensions = case.model.dimensions
    if cosines:
        short, of_passages = cosines_alone(
            list(asked), np.array(known, np.float32).reshape(len(known), dimensions)
        )
        of_questions, dimensions = short, len(short[0])
    written = iter(of_passages)
    notes = [
        note.with_changes(
            passages=[one.with_changes(vector=next(written), windows=None) for one in cut.given_passages]
        )
        for note, cut in cuts
    ]
    kind = "cosines" if cosines else "float32"
    model = {"vectors": kind, "dimensions": dimensions, "axes": None}
    return with_notes(case, notes).with_changes(
        model=case.model.with_changes(**model),
        questions=[
            one.with_changes(vector=vector, words=None)
            for one, vector in zip(case.questions, of_questions, strict=True)
        ],
    )


def in_passages(case: Case) -> Case:
    """The case with every note as its passages, so that a passage can change without moving the others."""
    chunker = chunker_of(case.memory)
    notes = []
    for note in case.memory.notes or ():
        cut = cut_note(note, chunker)
        passages = [
            given.with_changes(lines=(one.start_line, one.end_line), text=one.text)
            for one, given in zip(cut.passages, cut.given_passages, strict=True)
        ]
        notes.append(note.with_changes(text=None, passages=passages))
    return with_notes(case, notes)


def in_texts(note: CaseNote) -> CaseNote:
    """A note of one passage as a text with what travels with the passage."""
    passages = note.passages or []
    if note.text is not None or len(passages) != 1 or passages[0].annotations:
        return note
    rest = passages[0].with_changes(lines=None, text=None)
    return note.with_changes(text=passages[0].text, passages=None if rest == CasePassage() else [rest])


def with_notes(case: Case, notes: Sequence[CaseNote]) -> Case:
    """The case with other notes."""
    memory = case.memory.with_changes(notes=list(notes), folder=None)
    return case.with_changes(memory=memory)


Item = TypeVar("Item")


def smallest(items: Sequence[Item], fails: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """A part of `items`, in their order, for which `fails` is true, and false without any one of its items.

    `fails(items)` must be true. The same input gives the same result. An empty part is tried too.
    """
    kept = list(items)
    if kept and fails([]):
        return []
    parts = 2
    while len(kept) >= 2:
        size = max(1, len(kept) // parts)
        cuts = list(range(0, len(kept), size))
        without = next((cut for cut in cuts if fails([*kept[:cut], *kept[cut + size :]])), None)
        if without is not None:
            kept = [*kept[:without], *kept[without + size :]]
            parts = max(2, min(parts - 1, len(kept)))
        elif size == 1:
            break
        else:
            parts = min(len(kept), parts * 2)
    return kept


SHRUNK = "Shrunk: each passage keeps the vector of its original text."
MOST_ROUNDS = 5
SENTENCE = 3
"""The least number of words of a sentence that a maintainer can read."""
LINES, SENTENCES = re.compile(r"[^\n]+\n*"), re.compile(r"[^\n.!?。！？]+(?:[.!?。！？]+\s*|\n*|$)")

Reason = tuple[bool, str, str]


class Verdicts(NamedTuple):
    """The reason of each question, and whether the case holds on each other system that it names.

    `releases` has the same for each release of its system, by name. `chunks` are the chunks that decide on
    each system that the case names, with the legs that brought them, or are empty.
    """

    reasons: tuple[Reason, ...]
    elsewhere: tuple[bool, ...] = ()
    releases: tuple[tuple[str, bool], ...] = ()
    chunks: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...] = ()


def verdicts(
    case: Case, folder: Path | None = None, chunks: bool = False, wanted: Sequence[Reason] | None = None
) -> Verdicts:
    """The case on its own system, on those that it names, and on the releases of its system.

    With `wanted`, a case with other reasons is not run on other systems. Raises InputError if it cannot be
    run.
    """
    runs, releases = run_everywhere(case, folder, wanted)
    every = runs if chunks else []
    deciding = tuple(tuple(one.deciding for one in run.answers) for run in every)
    elsewhere = tuple(one.holds for one in runs[1:])
    return Verdicts(runs[0].reasons, elsewhere, tuple(releases.items()), deciding)


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
            return verdicts(case, self.folder, bool(wanted.chunks), wanted.reasons) == wanted
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

    On each release of its system, too, it holds or fails as the original does. `kept` is called with the case
    after each step. Raises InputError for a case in which nothing fails, and for one that does not do on
    another system what it states.
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
        names = [pipeline_of_case(case.system, folder).name, *(name for name, _ in wanted.releases)]
        case = case.with_changes(compared=list(dict.fromkeys(names)))
        work = Shrinking(case, wanted, folder, kept, bar)
        _freeze(work)
        _questions(work)
        _changes(work)
        _question_words(work)
        for _ in range(MOST_ROUNDS):
            before = work.now
            _smaller(work, work.now.memory.notes or [], lambda some: with_notes(work.now, some))
            _passages(work)
            _texts(work, LINES)
            _texts(work, SENTENCES)
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
        with replaced(original) as out:
            out.write(file.path.read_text(encoding="utf-8"))

    def kept(case: Case) -> None:
        save_case(case, file.path, overwrite=True)

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
    if any(note.text is not None and note.passages for note in work.now.memory.notes or ()):
        work.try_to_take(in_passages(work.now))


def _questions(work: Shrinking) -> None:
    failing = [number for number, (holds, _, _) in enumerate(work.wanted.reasons) if not holds]

    def only(numbers: Sequence[int]) -> tuple[Case, Verdicts]:
        chosen = work.now.with_changes(questions=[work.now.questions[number] for number in numbers])
        wanted = Verdicts(
            tuple(work.wanted.reasons[number] for number in numbers),
            work.wanted.elsewhere,
            work.wanted.releases,
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

        def with_items(some: Sequence[str], name: str = name) -> Case:
            system = work.now.system.with_changes(**{name: list(some)})
            return work.now.with_changes(system=system)

        _smaller(work, getattr(work.now.system, name), with_items, none=True)


def _smaller(
    work: Shrinking, items: Sequence[Item], case_with: Callable[[Sequence[Item]], Case], none: bool = False
) -> None:
    """Takes as few items as the failure needs, or none of them, if that is possible."""
    if items:
        found = smallest(items, lambda some: bool(none or some) and work.fails(case_with(some)))
        if len(found) < len(items):
            work.take(case_with(found))


class TextPart(NamedTuple):
    """A part of a case's notes: a passage, line or word, with the note and the passage that it is in."""

    note: int
    passage: int
    text: str


def _passages(work: Shrinking) -> None:
    notes = work.now.memory.notes or []

    def only(some: Sequence[TextPart]) -> Case:
        wanted = {(one.note, one.passage) for one in some}
        kept = [
            note.with_changes(
                passages=[p for n, p in enumerate(note.passages or ()) if (number, n) in wanted]
            )
            if note.text is None
            else note
            for number, note in enumerate(notes)
        ]
        return with_notes(work.now, kept)

    pieces = [
        TextPart(number, n, "")
        for number, note in enumerate(notes)
        if note.text is None
        for n in range(len(note.passages or ()))
    ]
    _smaller(work, pieces, only)


def _question_words(work: Shrinking) -> None:
    """All sentences at once but those with words of the questions: what is left is easy to shrink."""
    asked = {word.lower() for one in work.now.questions for word in re.findall(r"\w+", one.question)}
    pieces = _pieces(work.now, SENTENCES)
    matching = [one for one in pieces if asked & {word.lower() for word in re.findall(r"\w+", one.text)}]
    work.try_to_take(_only(work.now, [])) or work.try_to_take(_only(work.now, matching))


def _texts(work: Shrinking, kind: re.Pattern[str]) -> None:
    """Takes lines or sentences out of all texts; a sentence of each text stays, so that it can be read."""
    case = work.now
    found = smallest(_pieces(case, kind), lambda some: work.fails(_only(case, some)))
    work.try_to_take(_only(case, found))


def _texts_of(note: CaseNote) -> list[str]:
    """The texts of a note that can change on their own."""
    return [note.text] if note.text is not None else [one.text or "" for one in note.passages or ()]


def _pieces(case: Case, kind: re.Pattern[str]) -> list[TextPart]:
    return [
        TextPart(number, passage, text)
        for number, note in enumerate(case.memory.notes or ())
        for passage, whole in enumerate(_texts_of(note))
        for text in kind.findall(whole)
    ]


def _only(case: Case, some: Sequence[TextPart]) -> Case:
    """The case with these parts of its texts alone, and with a sentence of a text without any."""
    texts: dict[tuple[int, int], str] = {}
    for one in some:
        texts[one.note, one.passage] = texts.get((one.note, one.passage), "") + one.text
    notes = []
    for number, note in enumerate(case.memory.notes or ()):
        new = [
            texts.get((number, n), "").strip() or _first_sentence(old)
            for n, old in enumerate(_texts_of(note))
        ]
        if note.text is not None:
            notes.append(note.with_changes(text=new[0]))
        else:
            passages = zip(note.passages or (), new, strict=True)
            notes.append(note.with_changes(passages=[one.with_changes(text=text) for one, text in passages]))
    return with_notes(case, notes)


def _first_sentence(text: str) -> str:
    """The first sentence of a text with a few words; without one, its first words."""
    found = [one.strip() for one in SENTENCES.findall(text)]
    whole = next((one for one in found if len(one.split()) >= SENTENCE), "")
    return whole or next((one for one in found if re.search(r"\w", one)), text)


def _plain(work: Shrinking) -> None:
    """Notes of one passage become texts, which are easier to read; their lines then count from 1."""
    work.wanted = work.wanted._replace(chunks=())
    work.try_to_take(with_notes(work.now, [in_texts(one) for one in work.now.memory.notes or ()]))


def _finished(work: Shrinking) -> Case:
    """The case with its observations made again, and a note that says where its vectors come from."""
    case = work.now
    (run,) = run_on(case, [pipeline_of_case(case.system, work.folder)], folder=work.folder)
    note = case.note if SHRUNK in case.note else f"{case.note} {SHRUNK}".strip()
    return with_observations(run).with_changes(note=note)
