"""Copies of one text, which take the places of an answer."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from workbench.contracts import Index
from workbench.measure.reruns import Reruns
from workbench.records import Chunk
from workbench.retrieval.pipeline import search
from workbench.retrieval.query import unicode_words
from workbench.safe_text import counted
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.index_of_folder import index_command, index_of_folder
from workbench_plugins.diagnose.kinds import of_kind
from workbench_plugins.diagnose.parameters import Aim, Goal


def causes_of_copies(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """Files with one text in the answer: verified with a longer answer, of which each text counts once.

    Files that nearly repeat each other also crowd out one that differs in a word: tried without them.
    """
    index = runs.index
    answer = [one.chunk for one in runs.base.results]
    limit = int(min(runs.pipeline.limit, index.size))
    copies = len(answer) - len(_each_once(answer))
    if not copies or goal.aim is Aim.OUT:
        return
    longer = search(runs.question, runs.pipeline.asking(limit=MOST_COPIES * limit), index, runs.vector)
    found = [one.chunk for one in longer.results]
    once = _each_once(found)[:limit]
    if goal.aim is Aim.IN and goal.path in [one.path for one in once]:
        same = len({one.text.strip() for one in answer}) < len(answer)
        told = f"{counted(copies, 'result')} of {len(answer)} repeat the text of another one"
        told = told if same else f"{told} nearly word for word"
        evidence = f"{goal.path}: {told}; with each text once, the file is {goal.aim}"
        cause = of_kind("copies" if same else "near copies", index, evidence, True)
        yield replace(cause, repair=_keep_one_of(answer, found))
        return
    crowd = _crowd(found[:MOST_COMPARED], goal.path)
    others = dict.fromkeys(one.path for one in found if one.path not in crowd)
    place = next((at for at, path in enumerate(others) if path == goal.path), limit)
    if len(crowd) >= FEWEST_COPIES and place < (1 if goal.aim is Aim.FIRST else limit):
        every = list(dict.fromkeys(one.path for one in found if one.path in crowd))
        evidence = (
            f"{goal.path}: {counted(len(crowd), 'file')} found by this question have nearly the same words; "
            f"without them in the list, the file is {goal.aim}"
        )
        if len({one.text.strip() for one in found if one.path in crowd}) > 1:
            evidence += f". {DIFFER.capitalize()}"
        yield replace(of_kind("near copies", index, evidence, True), repair=_set_aside(index, every))


def _set_aside(index: Index, paths: Sequence[str]) -> str:
    """The commands that move files into a folder beside the memory, where none is lost; or what to do."""
    folder, names = index_of_folder(index), {PurePosixPath(path).name for path in paths}
    if folder is None or len(names) < len(paths):
        return f"take these files out of the memory: {', '.join(paths)}"
    aside = shlex.quote(str(folder.root.with_name(f"{folder.root.name}-set-aside")))
    files = " ".join(shlex.quote(str(folder.root / path)) for path in paths)
    return f"mkdir -p {aside} && mv -n {files} {aside} && {index_command(index)}"


def _keep_one_of(answer: Sequence[Chunk], found: Sequence[Chunk]) -> str:
    """Which files have one text: all that were found of each text that the answer has more than once.

    Of files whose texts differ in a few words, each may say what no other one does.
    """
    told = []
    for first in _each_once(answer):
        words = {*unicode_words(first.text.lower())}
        same = [one for one in found if _nearly_same(words, {*unicode_words(one.text.lower())})]
        files = sorted({one.path for one in same}, key=lambda path: (len(path), path))
        if len(files) > 1:
            differ = f"; {DIFFER}" if len({one.text.strip() for one in same}) > 1 else ""
            told.append(f"keep one of these {len(files)} files: {', '.join(files)}{differ}")
    return "; and ".join(told)


DIFFER = "their texts differ in some words, so compare them before you take one away"
MOST_COPIES = 4
"""How many times as long an answer is looked through for texts that are no copies."""
NEARLY_SAME = 0.8
"""Texts are nearly the same if they share so much of all their words."""
FEWEST_COPIES = 3
"""The least number of files that nearly repeat each other in a crowd; two may be a note and its revision."""
MOST_COMPARED = 100
"""The number of chunks of a long answer that are compared with each other."""


def _crowd(chunks: Sequence[Chunk], path: str) -> set[str]:
    """The files other than `path` of which each nearly repeats at least two others."""
    words = [(one.path, {*unicode_words(one.text.lower())}) for one in chunks if one.path != path]
    return {
        mine
        for mine, some in words
        if len({theirs for theirs, other in words if theirs != mine and _nearly_same(some, other)})
        >= FEWEST_COPIES - 1
    }


def _nearly_same(one: set[str], other: set[str]) -> bool:
    """Whether two texts share most of their words; texts that are not known have none."""
    return bool(one) and len(one & other) >= NEARLY_SAME * len(one | other)


def _each_once(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The first chunk of each text, in order: none that has nearly the words of one before it."""
    kept: list[tuple[Chunk, set[str]]] = []
    for one in chunks:
        words = {*unicode_words(one.text.lower())}
        if not any(_nearly_same(words, other) for _, other in kept):
            kept.append((one, words))
    return [one for one, _ in kept]


# Vectors
