"""What in the wanted note hides its words: invisible characters, markup, broken words, a wrong encoding.

A reading is a way to read a text as its writer meant it. It is a cause if words of the question stand in the
note only in this reading; it is verified with the note in this reading in a temporary copy of the index.
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten

from workbench.contracts import Index
from workbench.errors import WorkbenchError
from workbench.measure.reruns import Reruns
from workbench.memory.index import MemoryIndex
from workbench.memory.options import Options
from workbench.memory.store.sqlite import database
from workbench.memory.store.sqlite.location import SQLiteLocation
from workbench.memory.sync import index_folder
from workbench.records import FRONT_MATTER
from workbench.retrieval.pipeline import search
from workbench.retrieval.query import unicode_words
from workbench.safe_text import counted
from workbench.stop_words import content_words
from workbench.systems.catalogue import indexing
from workbench_plugins.diagnose.asked import LARGEST
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.chunk_sizes import chunker_named, cut_index, rebuilt
from workbench_plugins.diagnose.index_of_folder import copy_notes, index_of_folder, is_inside
from workbench_plugins.diagnose.parameters import Aim, Goal
from workbench_plugins.diagnose.readings import (
    READINGS,
    Reading,
    command_mends,
    in_code_page,
    missing_words,
    scanned,
    words_of,
)


def causes_in_note(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """What is in the note or hides in it, the surest first; nothing for an index without its texts."""
    text = "" if goal.aim is Aim.OUT else _text(runs.index, goal.path)
    if text:
        yield from _hidden_words(runs, goal, text)
        yield from _front_matter(runs, goal, text)
        yield from _pictures(runs, goal, text)


DATA = re.compile(r"data:[\w.+/-]+(?:;[\w=.+-]+)*;base64,[A-Za-z0-9+/=\s]*[A-Za-z0-9+/=]")
"""A picture or another file that is written into a text as base64."""


def _pictures(runs: Reruns, goal: Goal, text: str) -> Iterator[Cause]:
    """Pictures in base64 that outweigh the text of the note; verified with the note without them."""
    found = DATA.findall(text)
    inside = sum(map(len, found))
    if 2 * inside > len(text) and _reached(runs, goal, DATA.sub("", text)):
        yield Cause(
            ("note",),
            f"{goal.path} has {counted(len(found), 'file')} written into it as base64, such as a picture: "
            f"{counted(inside, 'character')} of it, and {len(text) - inside:,} of text",
            "keep them in files of their own, and link to these, then index again",
            f"without them, the file is {goal.aim}",
            True,
        )


POINTER = "version https://git-lfs.github.com/spec/"
"""How a file begins that stands in place of a large one. Source: git-lfs, docs/spec.md."""


def _hidden_words(runs: Reruns, goal: Goal, text: str) -> Iterator[Cause]:
    """What hides words of the question in the wanted note.

    Each reading is tried alone, and then several together for the words that none alone brings back.
    """
    if text.startswith(POINTER):
        yield Cause(
            ("note",),
            f"{goal.path} is a pointer of Git LFS, and its text is not here",
            "fetch it with `git lfs pull`, then index again",
            f"its first line is “{text.splitlines()[0]}”",
            verified=False,
            certain=True,
        )
        return
    asked = {one.lower(): words_of(one) for one in content_words(unicode_words(runs.question))}
    missing = missing_words(asked, text)
    found: list[Cause] = []
    readings = [*READINGS, *in_code_page(text, missing), *scanned(text, missing)]
    for one in readings if missing else ():
        back = missing.keys() - missing_words(missing, one.meant(text)).keys()
        if back:
            found.append(_hidden(runs, goal, text, [one], back))
            yield found[-1]
            asked = {word: parts for word, parts in asked.items() if word not in back}
    hidden = missing_words(asked, text)
    if hidden and not any(one.verified for one in found):
        several = _together(readings, text, hidden)
        if several:
            back = missing.keys() - missing_words(missing, _as_meant(several, text)).keys()
            yield _hidden(runs, goal, text, several, back)


def _as_meant(readings: Sequence[Reading], text: str) -> str:
    """The text in several readings, one after the other."""
    for one in readings:
        text = one.meant(text)
    return text


def _together(readings: Sequence[Reading], text: str, hidden: Mapping[str, set[str]]) -> list[Reading]:
    """The fewest readings that together bring back hidden words, found by leaving out one after the other."""
    found = list(readings)
    left = missing_words(hidden, _as_meant(found, text)).keys()
    if left == hidden.keys():
        return []
    for one in readings:
        fewer = [other for other in found if other is not one]
        found = fewer if missing_words(hidden, _as_meant(fewer, text)).keys() <= left else found
    return found


def _hidden(runs: Reruns, goal: Goal, text: str, readings: Sequence[Reading], back: Collection[str]) -> Cause:
    """The cause that the note hides these words, tried with the note in some readings."""
    reached = _reached(runs, goal, _as_meant(readings, text))
    has, words = " and ".join(one.has for one in readings), ", ".join(sorted(back)[:4])
    outcome = {
        True: f"; with the note mended, the file is {goal.aim}",
        False: f"; with the note mended, the file is still not {goal.aim}",
        None: "",
    }
    repair = _shell(readings, runs.index, goal.path, text) if reached else _by_hand(readings)
    return Cause(
        ("note",),
        f"{goal.path} has {has}, and so it does not have these words of the question: {words}",
        repair,
        f"read as it is meant, it has {counted(len(back), 'more word')} of the question{outcome[reached]}"
        + _lines_text(readings, text, back),
        verified=bool(reached),
        refuted=reached is False,
    )


def _lines_text(readings: Sequence[Reading], text: str, back: Collection[str]) -> str:
    """The first lines of the note that hide words; empty where a reading joins lines."""
    lines = text.splitlines()
    hiding = [
        f"line {number} (“{shorten(line, 60, placeholder=' …')}”)"
        for number, line in enumerate(lines, 1)
        if set(back) & (words_of(_as_meant(readings, line)) - words_of(line))
    ]
    return f". They are in {' and '.join(hiding[:2])}" if hiding else ""


def _front_matter(runs: Reruns, goal: Goal, text: str) -> Iterator[Cause]:
    """Words of the question that only the front matter has, or a front matter that outweighs the text.

    Verified with the note in a temporary copy of the index: with its front matter written as text, or
    without it.
    """
    front = FRONT_MATTER.match(text)
    if front is None:
        return
    inside, body = front[0].strip("-+.\n"), text[front.end() :]
    asked = {one.lower() for one in content_words(unicode_words(runs.question))}
    only = sorted(asked & words_of(inside) - words_of(body))
    values = [re.split("[:=]", line, maxsplit=1)[-1].strip(" []\"'") for line in inside.splitlines()]
    if only and _reached(runs, goal, f"# {' '.join(values)}\n\n{body}"):
        yield Cause(
            ("note",),
            f"only the front matter of {goal.path} has these words of the question: {', '.join(only[:4])}",
            "write them into a heading or the text of the note, too, then index again",
            f"with the values of its front matter as a heading, the file is {goal.aim}",
            True,
        )
    elif not only and len(inside) > len(body) and _reached(runs, goal, body):
        yield Cause(
            ("note",),
            f"the front matter of {goal.path} outweighs its text: {counted(len(inside), 'character')} of it, "
            f"and {len(body.strip()):,} of text",
            "shorten the front matter, then index again",
            f"without its front matter, the file is {goal.aim}",
            True,
        )


def _by_hand(readings: Sequence[Reading]) -> str:
    """What to do with a note in words."""
    return f"{', then '.join(one.repair for one in readings)}, then index again"


def _shell(readings: Sequence[Reading], index: Index, path: str, text: str) -> str:
    """The commands that mend the note's file and index it again; in words where no command does it.

    The first command keeps the old text, and each later one starts from what the one before has written.
    """
    folder = index_of_folder(index)
    if folder is None:
        return _by_hand(readings)
    file = folder.root / path
    if path in folder.opened.changed() or not file.is_file():
        return _by_hand(readings)
    commands: list[str] = []
    for one in readings:
        later = bool(commands)
        if not one.command or (later and KEEPS not in one.command) or not command_mends(one, text):
            return _by_hand(readings)
        commands.append(one.command.replace(KEEPS, " -i ") if later else one.command)
        text = one.meant(text)
    words = " && ".join(commands).replace("FILE", shlex.quote(str(file)))
    return f"{words} && workbench index {folder.opened.command_options}"


KEEPS = " -i.old "
"""The option of perl that keeps the old text beside the file."""


def _text(index: Index, path: str) -> str:
    """The text of a file as the index has it."""
    if index.size > LARGEST:
        return ""
    documents = index.documents() or ()
    return next((one.text for one in documents if one.path == path), "")


def _reached(runs: Reruns, goal: Goal, text: str) -> bool | None:
    """Whether the answer is as wanted in a temporary index in which the note has another text.

    None, which is *not tried*, for an index that cannot be made again here.
    """
    try:
        memory = cut_index(runs.index)
        chunker = chunker_named(memory.store.settings.chunker)
        assert chunker is not None  # cut_index has checked it
        with rebuilt(memory, chunker, "the note as it is meant", {goal.path: text}) as mended:
            return goal.reached(search(runs.question, runs.pipeline, mended, runs.vector))
    except WorkbenchError:
        return _reached_in_a_copy(runs, goal, text)


MOST_COPIED = 1000
"""A memory of more files is not copied."""


def _reached_in_a_copy(runs: Reruns, goal: Goal, text: str) -> bool | None:
    """The same for an index whose chunker is not known: with a copy of the folder and of the index file."""
    found = index_of_folder(runs.index)
    if found is None or getattr(found.opened.embedder, "remote", False):
        return None
    inner, paths = found.opened, found.opened.paths()
    if not all(map(is_inside, paths)) or len(paths) > MOST_COPIED or inner.changed():
        return None
    with tempfile.TemporaryDirectory() as folder:
        root, file = Path(folder) / "notes", Path(folder) / "index.sqlite"
        try:
            copy_notes(found.root, paths, root)
            (root / goal.path).write_bytes(text.encode())
            database.copy(Path(inner.store.name), file)
            with SQLiteLocation(file).updating() as store:
                store.provenance.describe(folder=str(root))
            made_as = inner.store.provenance.indexed_as
            like = indexing(made_as) if made_as else None
            index_folder(root, inner.embedder, options=Options(index_path=file, skip=True, like=like))
            with MemoryIndex.open(file, inner.embedder, root) as mended:
                return goal.reached(search(runs.question, runs.pipeline, mended, runs.vector))
        except (OSError, WorkbenchError):
            return None
