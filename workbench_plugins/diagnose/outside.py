"""Causes outside the pipeline: the file is not indexed, the index is old, or its vectors do not fit."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np

from workbench.contracts import Index
from workbench.errors import InputError, WorkbenchError
from workbench.measure.blame import Reruns
from workbench.measure.questions import nearest
from workbench.memory.choices import extra_paths_of
from workbench.memory.data_files import load_data
from workbench.memory.embedding.local import LocalEmbedder, Windowed, has_runs
from workbench.memory.files import SUFFIX, FileLocation, open_below
from workbench.memory.index import MemoryIndex, OpenIndex
from workbench.memory.options import Options
from workbench.memory.store.sqlite import database
from workbench.memory.store.sqlite.location import words_file
from workbench.memory.sync import index_folder
from workbench.memory.unread import A_LINK, ADD, FOLDERS, RENAME, Unread
from workbench.records import Chunk, Hits, Rows, Vector
from workbench.registry import has_feature
from workbench.retrieval.foreign_ids import path_form
from workbench.retrieval.index_adapters import IndexAdapter, adapted, innermost
from workbench.retrieval.legs import VectorLeg
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import unicode_words
from workbench.retrieval.scope import Scope
from workbench.safe_text import counted
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.parameters import Aim, Goal

KINDS = load_data(__file__, "outside.toml")
"""Where each kind of cause is, what it says, and what repairs it."""
CERTAIN = ("not read", "empty", "wordless", "new")
"""What is seen in the index and the folder, without a trial."""
NO_HITS = Hits(np.empty(0, np.int64), np.empty(0))
LARGEST_COSINE, SAME_TEXT = 1.001, 0.7
"""A larger similarity is no cosine; a text has a larger one with itself, also with a prefix for queries."""
SHOWN_PATHS = 3
"""The number of paths that an error names as examples."""
NEAR_ITSELF = 10
"""A chunk whose own text does not bring it among so many nearest chunks has a vector of another kind."""


def check_known(index: Index, target: str) -> None:
    """Raises InputError, with the nearest path, for a file that is neither in the index nor in its folder."""
    if index.rows_of(target).size or target in changed_files(index) or _on_disk(index, target):
        return
    if unread_near(index, target) is not None:
        return
    paths = sorted(index.paths())
    inner = innermost(index)
    root = inner.root if isinstance(inner, MemoryIndex) else None
    where = f"The folder that is searched is {root}. " if root is not None else ""
    near = nearest(target, paths)
    some = f"It has {counted(len(paths), 'file')}, such as {', '.join(paths[:SHOWN_PATHS])}."
    hint = f"The nearest is {near}." if near else some
    other = "" if root is None else " Or search the folder that has it: -m FOLDER."
    raise InputError(
        f"The index has no file {target}.", f"{where}Give its path as the index has it. {hint}{other}"
    )


def changed_files(index: Index) -> list[str]:
    """The files that differ from their state in the index; none for an index that cannot tell."""
    inner = innermost(index)
    return inner.changed() if isinstance(inner, OpenIndex) else []


def unread_near(index: Index, target: str) -> Unread | None:
    """The file on the disk that a path means and that no index reads; None for none."""
    inner = innermost(index)
    return inner.unread_near(target) if isinstance(inner, OpenIndex) else None


def _on_disk(index: Index, target: str) -> bool:
    """Whether a file is in the memory's folder; nothing is said of files elsewhere, or behind a link."""
    inner = innermost(index)
    root = inner.root if isinstance(inner, MemoryIndex) else None
    names = Path(target).parts
    if root is None or not names or Path(target).is_absolute() or ".." in names:
        return False
    try:
        with open_below(FileLocation(root, names)):
            return True
    except (OSError, ValueError):
        return False


def causes_outside(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """What is wrong with the index, as far as it concerns a file that is wanted in the answer.

    A command of a repair names the folder and the index, so that it can be pasted.
    """
    inner = innermost(runs.index)
    folder = memory = "FOLDER"
    if isinstance(inner, MemoryIndex) and inner.root is not None:
        folder, memory = shlex.quote(str(inner.root)), inner.command_options
    for one in _causes_outside(runs, goal):
        named = folder if " --index " in one.repair else memory
        yield replace(one, repair=one.repair.replace("FOLDER", named))


def _causes_outside(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    index = runs.index
    yield from _refused(index)
    yield from _of_no_file(runs, goal)
    yield from _empty_scope(runs, goal)
    of_its_own = getattr(innermost(index), "causes", None)
    yield from () if of_its_own is None else of_its_own(runs, goal)
    changed = changed_files(index)
    indexed = index.rows_of(goal.path).size > 0
    if not indexed and goal.path not in changed and goal.path in index.paths():
        yield of_kind("empty", f"{goal.path}: the index knows the file, and has no chunk of it")
        return
    there = None if indexed else unread_near(index, goal.path)
    if there is not None:
        repair = "workbench index FOLDER --extra ." if there.remedy == ADD else there.advice
        if there.refused:  # what mends it may be a command
            command = repair.partition(": ")[2] if " && iconv " in repair else ""
            repair = f"{command} && workbench index FOLDER" if command else repair
        elif there.remedy == RENAME and (renamed := _renaming(index, there.path)):
            repair = renamed
        elif there.remedy not in (ADD, A_LINK, FOLDERS):
            repair += " Then: workbench index FOLDER"
        yield replace(of_kind("not read", str(there)), description=there.reason, repair=repair)
        return
    if not indexed and goal.path not in changed:
        told = f"{goal.path}: the index has no chunk of it, and no later sync would read it"
        yield of_kind("not read", told)
        return
    if changed:
        yield from _stale(runs, goal, changed, indexed)
    if indexed:
        yield from _wordless(index, goal)
    vectors = [] if not indexed or not asks_vectors(runs) else list(_of_vectors(runs, goal))
    yield from vectors
    if indexed and not changed and not vectors:
        yield from _of_store(runs, goal)
        yield from _copies(runs, goal)


def _renaming(index: Index, path: str) -> str:
    """The commands that give a file the ending .md and read it; empty where a file has that name already."""
    inner = innermost(index)
    if not isinstance(inner, MemoryIndex) or inner.root is None:
        return ""
    file = inner.root / path
    stem = file.with_suffix("")
    new = stem if stem.suffix == SUFFIX else stem.with_suffix(f"{stem.suffix}{SUFFIX}")
    if new.exists() and not new.samefile(file):
        return ""
    return f"mv -n {shlex.quote(str(file))} {shlex.quote(str(new))} && workbench index FOLDER"


def _of_no_file(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """Ids of another engine that name no file of the index: tried with the paths that they mean."""
    if not runs.base.unknown_ids:
        return
    ids = [one.chunk.id for one in runs.base.results]
    found = path_form(ids, runs.index.paths())
    meant = [found[1](one) for one in ids] if found else []
    place = 1 + meant.index(goal.path) if goal.path in meant else 0
    works = place == 1 if goal.aim is Aim.FIRST else place > 0
    repair = f"return each id as {found[0]}" if found else "return paths as the index has them"
    where = f"number {place} of {len(ids)}" if place else f"not among the {len(ids)}"
    evidence = f"with such paths, {goal.path} is {where}" if found else "no id is near to a path"
    in_vain = bool(found) and not works
    yield Cause(("ids",), runs.base.unknown_ids, repair, evidence, works, refuted=in_vain, certain=True)


FEWEST_WORDS = 2
"""A note of fewer words says nothing, besides what it links to."""
LINKS = re.compile(r"!\[\[[^\]\n]*\]\]|!\[[^\]\n]*\]\([^)\n]*\)|<img\b[^>]*>|https?://\S+")


def _wordless(index: Index, goal: Goal) -> Iterator[Cause]:
    """A file that has only pictures, attachments and addresses."""
    chunks = index.chunks(index.rows_of(goal.path))
    text = "\n".join(one.body for one in chunks)
    links = LINKS.findall(text)
    if links and len(unicode_words(LINKS.sub(" ", text))) < FEWEST_WORDS:
        yield of_kind("wordless", f"{goal.path}: its text is {', '.join(links[:3])}")


def asks_vectors(runs: Reruns) -> bool:
    """Whether the diagnosed pipeline has a vector leg."""
    return any(isinstance(stage, VectorLeg) for stage in runs.pipeline.stages)


def _empty_scope(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """A scope in which no file of the index is: tried without the folders that it has in front."""
    stage = next((one for one in runs.pipeline.stages if isinstance(one, Scope)), None)
    paths = runs.index.paths()
    if stage is None or not stage.where or any(map(stage.lets_pass, paths)):
        return
    shorter = ["/".join(one.split("/")[cut:]) for one in stage.where for cut in range(1, one.count("/"))]
    within = [one for one in shorter if one and goal.path.startswith(one)]
    meant = replace(stage, where=(within[0],)) if within else None
    reached = meant is not None and goal.reached(runs.trace(runs.pipeline.with_stage(meant)))
    told = f"its files have paths such as {', '.join(sorted(paths)[:SHOWN_PATHS])}"
    yield Cause(
        (Scope.slot,),
        f"scope: no file of the index is in {stage.folders}",
        f"write paths as the index has them: {within[0]}" if within else "write paths as the index has them",
        f"{told}; in {within[0]} the file is {goal.aim}" if reached else told,
        reached,
        refuted=meant is not None and not reached,
        certain=True,
    )


def _of_store(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """What the doctor finds wrong with the file's rows in the store; nothing without that feature."""
    inner = innermost(runs.index)
    if has_feature("doctor") and isinstance(inner, OpenIndex):
        from workbench_plugins.doctor.faults import faults_of_file

        for one in faults_of_file(inner, goal.path):
            told = f"{goal.path}: {one.count:,} of {one.of:,} ({one.kind})"
            cause = Cause(("index",), one.description, one.repair, told, False)
            yield _unseen_change(cause, runs, goal) if one.kind == "stale" else cause


def _unseen_change(cause: Cause, runs: Reruns, goal: Goal) -> Cause:
    """The cause of a file that has other text than the index, which size and time do not show; tried."""
    told = replace(cause, description="the file has changed since it was indexed, but not its size and time")
    try:
        with _up_to_date(runs.index, verify=True) as fresh:
            if fresh is None:
                return told
            reached = goal.reached(search(runs.question, runs.pipeline, fresh))
    except WorkbenchError as error:
        return replace(told, evidence=f"{cause.evidence}. It could not be tried: {error.problem}")
    outcome = "is then" if reached else "is then still not"
    evidence = f"{cause.evidence}. Tried with every file read again: it {outcome} {goal.aim}"
    return replace(told, evidence=evidence, verified=reached, refuted=not reached, certain=True)


def of_kind(kind: str, evidence: str, works: bool | None = None) -> Cause:
    """The cause of a kind, in the words of KINDS; `works` is None if its repair was not tried."""
    told = KINDS[kind]
    return Cause(
        (told["where"],),
        told["says"],
        told["repair"],
        evidence,
        verified=bool(works),
        refuted=works is False,
        certain=kind in CERTAIN,
    )


def without_foreign_vectors(index: Index, question: str, pipeline: Pipeline) -> Index:
    """The index; if it refuses the question's vector, one whose vector leg brings nothing."""
    if not any(isinstance(stage, VectorLeg) for stage in pipeline.stages):
        return index
    try:
        index.vector(index.embed(question), 1)
    except InputError as error:
        return _ForeignVectors(index, error.problem)
    return index


class _ForeignVectors(IndexAdapter):
    """An index whose vectors have another number of dimensions than the question's; `problem` says so."""

    def __init__(self, inner: Index, problem: str) -> None:
        super().__init__(inner)
        self.problem = problem

    def vector(self, query: Vector, limit: int) -> Hits:
        return NO_HITS


def _refused(index: Index) -> Iterator[Cause]:
    """The vectors of another model that the index itself refuses: no search with them can be run."""
    refusing = adapted(index, _ForeignVectors)
    if refusing is not None:
        yield of_kind("foreign", f"The vector leg brings nothing. {refusing.problem}")


# An index that is older than its folder


def _stale(runs: Reruns, goal: Goal, changed: list[str], indexed: bool) -> Iterator[Cause]:
    """The index is older than the folder: verified with a copy that is brought up to date."""
    kind, concerns = "old" if indexed else "new", goal.path in changed
    try:
        with _up_to_date(runs.index) as fresh:
            if fresh is None:
                return
            reached = goal.reached(search(runs.question, runs.pipeline, fresh))
            chunks = fresh.rows_of(goal.path).size
            former = "" if indexed else _former_name(fresh, runs.index, goal.path)
    except WorkbenchError as error:
        if concerns:
            yield of_kind(kind, f"{goal.path}: The copy could not be brought up to date: {error.problem}")
        return
    if reached or concerns:
        files = f"{counted(len(changed), 'file')} changed since the index was made"
        told = f"{files}; up to date the index has {counted(chunks, 'chunk')} of {goal.path}"
        outcome = f"and the file is {goal.aim}" if reached else "but the file is still not as wanted"
        cause = of_kind(kind, f"{goal.path}: {told}, {outcome}", reached)
        yield replace(cause, description=RENAMED.format(former)) if former else cause


RENAMED = "the file was renamed since: the index has the same text as {}"


def _former_name(fresh: MemoryIndex, index: Index, path: str) -> str:
    """The name under which the older `index` has a new file's text; empty for none."""
    older = innermost(index)
    text_hash = next((one.hash for one in fresh.documents() if one.path == path), "")
    return older.former_name(text_hash) if isinstance(older, MemoryIndex) else ""


@contextmanager
def _up_to_date(index: Index, verify: bool = False) -> Iterator[MemoryIndex | None]:
    """A copy of the index that agrees with the folder; None for an index without its folder.

    With `verify`, every file is read, whatever its size and time say.
    """
    inner = innermost(index)
    if not isinstance(inner, MemoryIndex) or inner.root is None:
        yield None
        return
    file, root = Path(inner.store.name), inner.root
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "index.sqlite"
        database.copy(file, copy)
        if words_file(file).exists():  # so that unchanged chunks are not read again
            database.copy(words_file(file), words_file(copy))
        options = Options(index_path=copy, extra=extra_paths_of(root, file), skip=True, verify=verify)
        index_folder(root, inner.embedder, options=options)
        with MemoryIndex.open(copy, inner.embedder, root) as fresh:
            yield fresh


def _copies(runs: Reruns, goal: Goal) -> Iterator[Cause]:
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
        cause = of_kind("copies" if same else "near copies", evidence, True)
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
        yield replace(of_kind("near copies", evidence, True), repair=_set_aside(index, every))


def _set_aside(index: Index, paths: Sequence[str]) -> str:
    """The commands that move files into a folder beside the memory, where none is lost; or what to do."""
    inner = innermost(index)
    names = {PurePosixPath(path).name for path in paths}
    if not isinstance(inner, MemoryIndex) or inner.root is None or len(names) < len(paths):
        return f"take these files out of the memory: {', '.join(paths)}"
    aside = shlex.quote(str(inner.root.with_name(f"{inner.root.name}-set-aside")))
    files = " ".join(shlex.quote(str(inner.root / path)) for path in paths)
    return f"mkdir -p {aside} && mv -n {files} {aside} && workbench index FOLDER"


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
"""So many times as long an answer is looked through for texts that are no copies."""
NEARLY_SAME = 0.8
"""Texts are nearly the same if they share so much of all their words."""
FEWEST_COPIES = 3
"""So many files that nearly repeat each other are a crowd; two may be a note and its revision."""
MOST_COMPARED = 100
"""So many chunks of a long answer are compared with each other."""


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


def _of_vectors(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    index = runs.index
    rows = index.rows_of(goal.path)
    distances = distances_of(index, runs.vector, rows)
    if distances is None or runs.vector is None:
        return
    if not np.isfinite(distances).all():
        away = rows[~np.isfinite(distances)]
        told = f"{goal.path}: {away.size} of {counted(rows.size, 'chunk')} are in no answer of the vector leg"
        yield of_kind("unreached", told, found_with(runs, goal, _embedded(index, away)))
        return
    best = int(rows[np.argmin(distances)])
    (chunk,) = index.chunks(np.array([best]))
    own = index.embed(chunk.text)
    near = index.vector(own, index.size)
    rank = int(np.flatnonzero(near.rows == best)[0]) + 1
    cosine, most = 1 - float(near.raw[rank - 1]), 1 - float(near.raw.min())
    if most > LARGEST_COSINE:
        yield of_kind("long", f"the vector leg gives a similarity of {most:.2f}, and a cosine is at most 1")
    elif rank > NEAR_ITSELF or (
        cosine < SAME_TEXT and chunk.read_share == 1 and not has_runs(chunk.text)
    ):  # an older workbench embedded data, too
        evidence = (
            f"{chunk.location}: embedded again, its cosine with its stored vector is {cosine:.3f}, "
            f"and {rank - 1} other chunks are nearer"
        )
        yield _foreign(runs, goal, evidence)
    else:
        yield from _half_read(runs, goal)


MOST_EMBEDDED = 300
"""So many chunks are embedded again at most to try what the right vectors would bring."""


def _foreign(runs: Reruns, goal: Goal, evidence: str) -> Cause:
    """The stored vectors are those of another model: tried with the file's vectors made anew, then with all.

    Not tried to the end in an index of very many chunks.
    """
    index = runs.index
    own = index.rows_of(goal.path)
    works: bool | None = found_with(runs, goal, _embedded(index, own))
    if not works:
        small = index.size <= MOST_EMBEDDED
        every = np.concatenate([index.rows_of(path) for path in index.paths()]) if small else own
        works = found_with(runs, goal, _embedded(index, every)) if small else None
    return of_kind("foreign", evidence, works)


def _embedded(index: Index, rows: Rows) -> dict[int, Vector]:
    """The vectors of some chunks, made anew."""
    chunks = index.chunks(rows)
    return {int(row): index.embed(chunk.text) for row, chunk in zip(rows, chunks, strict=True)}


def _half_read(runs: Reruns, goal: Goal) -> Iterator[Cause]:
    """The model read chunks only in part.

    Verified with the vectors of all of them, or of the part of one chunk that the model did not read.
    """
    index = runs.index
    rows, asked = index.rows_of(goal.path), runs.vector
    part = {
        row: one for row, one in zip(rows.tolist(), index.chunks(rows), strict=True) if one.read_share < 1
    }
    whole = _whole(index, {row: one.text for row, one in part.items()})
    if asked is None or not part:
        return
    if whole and found_with(runs, goal, whole):
        chunk = part[max(whole, key=lambda row: float(asked @ whole[row]))]
        yield half_read("read in part", chunk, "with all of it")
        return
    # Of a chunk without data it is the end alone that is not read.
    ends = {row: unread_text(one) for row, one in part.items() if not has_runs(one.text)}
    rests = {row: index.embed(end) for row, end in ends.items() if end.strip()}
    nearest = max(rests, key=lambda row: float(asked @ rests[row]), default=None)
    if nearest is not None and found_with(runs, goal, {nearest: rests[nearest]}):
        yield half_read("too long", part[nearest], "with the rest alone")


def unread_text(chunk: Chunk) -> str:
    """The end of a chunk that the model has not read; empty if it has read all of it."""
    return chunk.text[int(len(chunk.text) * chunk.read_share) :]


def half_read(kind: str, chunk: Chunk, how: str) -> Cause:
    """The cause that the model has not read all of a chunk, and what was tried."""
    told = f"{chunk.location}: the model read {chunk.read_share:.0%} of it; {how}, the file would be found"
    return of_kind(kind, told, True)


def _whole(index: Index, texts: Mapping[int, str]) -> dict[int, Vector]:
    """The vectors of texts that the index's model reads whole; none without a model on this machine."""
    embedder = getattr(innermost(index), "embedder", None)
    if not isinstance(embedder, LocalEmbedder) or not texts:
        return {}
    found = embedder.read_as(Windowed()).embed(list(texts.values()), "passage").vectors
    return dict(zip(texts, found, strict=True))


def found_with(runs: Reruns, goal: Goal, vectors: dict[int, Vector]) -> bool:
    """Whether the answer is as wanted when some rows have these vectors."""
    other = _Reembedded(runs.index, vectors)
    return goal.reached(search(runs.question, runs.pipeline, other, runs.vector))


def distances_of(index: Index, vector: Vector | None, rows: Rows) -> np.ndarray | None:
    """The distances of some rows to a vector, infinite for those that the vector leg never brings.

    None without a vector, or without any hit.
    """
    if vector is None or not vector.any():
        return None
    hits = index.vector(vector, index.size)
    order = {int(row): at for at, row in enumerate(hits.rows.tolist())}
    found = [hits.raw[order[row]] if row in order else np.inf for row in rows.tolist()]
    return np.array(found) if hits.rows.size else None


class _Reembedded(IndexAdapter):
    """An index in which some rows have other vectors."""

    def __init__(self, inner: Index, vectors: dict[int, Vector]) -> None:
        super().__init__(inner)
        self._vectors = vectors

    def vector(self, query: Vector, limit: int) -> Hits:
        hits = self.inner.vector(query, self.size)
        others = ~np.isin(hits.rows, list(self._vectors))
        rows = np.concatenate([hits.rows[others], np.array(list(self._vectors), np.int64)])
        made = [1 - float(query @ one) for one in self._vectors.values()]
        raw = np.concatenate([hits.raw[others], np.array(made, float)])
        ids = np.array([one.id for one in self.inner.chunks(rows)], np.str_)
        order = np.lexsort((ids, raw))[:limit]
        return Hits(rows[order], raw[order])
