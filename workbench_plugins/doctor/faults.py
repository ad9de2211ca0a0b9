"""What is wrong with a store: each kind of fault with its count, an example, and the command that repairs it.

A store without a fault has no finding. How much of its texts the model has read is a fact, and no fault.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError, WorkbenchError
from workbench.memory.choices import extra_paths_of
from workbench.memory.data_files import load_data
from workbench.memory.embedding.local import (
    PACKAGED_MODEL,
    Embedder,
    LocalEmbedder,
    Truncated,
    local_embedder,
)
from workbench.memory.files import (
    LARGEST_FILE,
    FileLocation,
    content_hash,
    list_files,
    open_below,
    open_named,
)
from workbench.memory.index import MemoryIndex, OpenIndex
from workbench.memory.store.sqlite.store import Store
from workbench.memory.unread import unread_files, unread_lines
from workbench.memory.vector_check import SAME_VECTOR, cosines_again
from workbench.records import Rows
from workbench.safe_text import counted
from workbench_plugins.doctor.store_snapshot import StoreSnapshot, Vectors, ours

SAMPLED = 12
"""How many chunks from all over the store are embedded again, and as many that look least at home."""
FEW = 2
"""How many chunks of the file that is asked about are embedded again, and as many of all others."""
NEAR = 10_000
"""A line of a chunk is first looked for so many characters before the last one: chunks overlap."""
LONG = 600
"""Texts up to so many characters are read whole by every model, so their vectors can be compared."""
WHOLE = 8_000
"""Texts of more characters are not embedded again."""
COPIES = 3
"""The number of copies of one text that fill half of an answer of six."""
UNIT = 1e-3
"""How far the length of a unit vector may be from 1."""


@dataclass(frozen=True)
class Fault:
    """One kind of fault in a store: which of how many things have it, and what repairs it.

    `which` names a file for each chunk that has one.
    """

    kind: str
    description: str
    which: tuple[str, ...] = field(repr=False)
    of: int
    repair: str

    @property
    def count(self) -> int:
        return len(self.which)

    @property
    def example(self) -> str:
        return self.which[0]

    def __str__(self) -> str:
        found = f"{self.description}: {self.count:,} of {self.of:,}, such as {self.example}."
        return f"{found} Repair: {self.repair}"


PREFIXES: list[dict[str, str]] = load_data(__file__, "prefixes.toml")["prefix"]


def faults(
    snapshot: StoreSnapshot, embedder: Embedder | None = None, folder: Path | None = None, only: str = ""
) -> list[Fault]:
    """Every fault that a store has, in the order of the checks; with `only`, those of one file.

    `embedder` is the model of the store, by default the one that it names or, where it names none, the
    packaged one if the vectors turn out to be its. `folder` is the memory whose files the store should hold.
    """
    model = embedder or _model(snapshot)
    checks: tuple[Iterable[Fault], ...] = (
        _fault(snapshot, "damaged", "The file itself is damaged", snapshot.problems, len(snapshot.problems)),
        _files(snapshot, folder or snapshot.folder),
        _vectors(snapshot),
        _again(snapshot, model, embedder is not None or bool(snapshot.model), only),
        _full_text(snapshot),
        _copies(snapshot),
    )
    with np.errstate(all="ignore"):  # a vector can have any numbers
        every = [fault for check in checks for fault in check]
    return [one for one in every if only in one.which] if only else every


def facts(snapshot: StoreSnapshot) -> list[str]:
    """What is no fault but limits answers: pages without checksums, and what was not read, or in part."""
    found = [] if snapshot.checksums else [NO_CHECKSUMS.format(snapshot.repair)]
    if snapshot.says_folder and not snapshot.folder:
        found.append(
            f"The file names the folder {snapshot.says_folder}, which was not read. If its notes are there, "
            "give it with --notes"
        )
    if snapshot.folder is not None and snapshot.rules is not None and snapshot.folder.is_dir():
        extra = extra_paths_of(snapshot.folder, Path(snapshot.name))
        found += unread_lines(unread_files(snapshot.folder, snapshot.hashes, extra, snapshot.rules))
    if not snapshot.shares or min(snapshot.shares) >= 1:
        return found
    part = sum(share < 1 for share in snapshot.shares)
    mean = sum(snapshot.shares) / len(snapshot.shares)
    of_release = " --as " in snapshot.repair
    whole = snapshot.repair.replace(" --rebuild", " --reading windowed --rebuild")
    share = f"The model has read {mean:.0%} of a chunk on average, and {counted(part, 'chunk')} only in part"
    return [*found, f"{share}, as its release does" if of_release else f"{share}. To read all: {whole}"]


NO_CHECKSUMS = (
    "An older workbench made this index, so its pages have no checksums, and a changed bit may not be found. "
    "To add them, without embedding any text again: {}"
)


EMBEDDED_WRONG = {"other model", "mixed models", "other text", "passage prefix"}
"""The faults of vectors under the right model's name: their texts must be embedded again."""


def _fault(
    snapshot: StoreSnapshot, kind: str, description: str, which: Sequence[str], of: int, repair: str = ""
) -> Iterator[Fault]:
    if which:
        of_ours = repair or snapshot.repair
        if kind in EMBEDDED_WRONG and of_ours.endswith(" --rebuild"):
            of_ours = f"{of_ours} --verify"  # a rebuild alone takes the known vectors over
        yield Fault(kind, description, tuple(which), of, of_ours)


def _row_name(snapshot: StoreSnapshot, row: int) -> str:
    return snapshot.paths[row] or " ".join(snapshot.texts[row].split())[:60] or snapshot.ids[row]


# Files


def _files(snapshot: StoreSnapshot, folder: Path | None) -> Iterator[Fault]:
    """Ghosts, files that are not indexed, and stale texts; only of a store whose files are known."""
    lost = [snapshot.ids[row] for row, path in enumerate(snapshot.paths) if not path]
    if snapshot.hashes:
        yield from _fault(snapshot, "ghosts", "Chunks belong to no file", lost, len(snapshot.ids))
    unread = snapshot.problems and not snapshot.ids  # so nothing is known about its files
    if folder is None or not folder.is_dir() or unread:
        return
    there = _there(snapshot, folder)
    named = sorted(snapshot.hashes or {*filter(None, snapshot.paths)})
    known = [path for path in named if path in there or _inside(folder, path)]
    texts = {path: _text(folder, path) for path in known}
    gone = {path for path, text in texts.items() if text is None}
    ghosts = [path for path in snapshot.paths if path in gone] or sorted(gone)
    repair = snapshot.repair.removesuffix(" --rebuild")
    yield from _fault(
        snapshot, "ghosts", "Chunks are left of files that are gone", ghosts, len(snapshot.ids), repair
    )
    missing = sorted(path for path in there - {*known} if (_text(folder, path) or "").strip())
    refused = _refused(snapshot, folder) if missing else {}
    waiting = [path for path in missing if path not in refused]
    yield from _fault(snapshot, "not indexed", "Files are not in the store", waiting, len(there), repair)
    if unreadable := [path for path in missing if path in refused]:
        cannot = "Files cannot be indexed as they are"
        mended = refused[unreadable[0]]  # which is the file that the fault names
        yield from _fault(snapshot, "not indexed", cannot, unreadable, len(there), mended)
    chunks: dict[str, list[str]] = {}
    for path, chunk in zip(snapshot.paths, snapshot.texts, strict=True):
        chunks.setdefault(path, []).append(chunk)
    stale = [
        path
        for path, text in texts.items()
        if text is not None and _is_stale(snapshot.hashes.get(path), chunks.get(path, ()), text)
    ]
    if snapshot.kind == "ours":  # a change can keep size and time
        repair = f"{repair} --verify"
    yield from _fault(
        snapshot, "stale", "Files have changed since they were indexed", stale, len(known), repair
    )


def _refused(snapshot: StoreSnapshot, folder: Path) -> dict[str, str]:
    """What mends each file that indexing leaves out, such as one that is not UTF-8."""
    if snapshot.rules is None:
        return {}
    extra = extra_paths_of(folder, Path(snapshot.name))
    unread = unread_files(folder, snapshot.hashes, extra, snapshot.rules)
    return {one.path: one.advice for one in unread if one.refused}


def _there(snapshot: StoreSnapshot, folder: Path) -> set[str]:
    """The files of a folder that the store would read."""
    if snapshot.rules is None:
        return {path.relative_to(folder).as_posix() for path in folder.rglob("[!.]*.md")}
    try:
        return set(list_files(folder, extra_paths_of(folder, Path(snapshot.name)), snapshot.rules))
    except InputError:  # by these rules there is no file any more
        return set()


def _inside(folder: Path, path: str) -> tuple[str, ...]:
    """The names from a folder to a file that a store names; none for a file elsewhere, which is not read."""
    names = Path(os.path.relpath(folder / path, folder)).parts
    return () if ".." in names else names


def _text(folder: Path, path: str) -> str | None:
    """The text of a file of the notes; None if it is gone, or no plain file."""
    names = _inside(folder, path)
    try:
        with open_below(FileLocation(folder, names)) if names else open_named(folder / path) as file:
            return file.read(LARGEST_FILE + 1).decode(errors="replace")
    except (OSError, ValueError):
        return None


def _is_stale(known: str | None, chunks: Iterable[str], text: str) -> bool:
    """Whether a file has another digest than the known one or, without one, lacks lines of its chunks."""
    if known:
        return known != content_hash(text)
    at = 0
    for line in (line.strip() for chunk in chunks for line in chunk.splitlines()):
        at = text.find(line, max(0, at - NEAR))  # chunks come in the order of a file, mostly
        at = text.find(line) if at < 0 else at
        if at < 0:
            return True
    return False


# Vectors


def _vectors(snapshot: StoreSnapshot) -> Iterator[Fault]:
    if snapshot.model == "fts-only":
        return
    usual = _usual(snapshot)
    rows = range(len(snapshot.ids))
    whole, matrix = _matrix(snapshot)
    norms = np.linalg.norm(matrix, axis=1)
    finite = np.isfinite(matrix).all(axis=1)
    of, out = len(snapshot.ids), set(snapshot.unreachable)
    missing = [row for row in rows if not snapshot.vectors[row].size and not snapshot.later]
    other = [row for row in rows if snapshot.vectors[row].size not in (0, usual)]
    broken, zero = whole[~finite], whole[finite & (norms == 0)]
    long = whole[finite & (norms > 0) & (np.abs(norms - 1) > UNIT)]
    away = [row for row in rows if snapshot.ids[row] in out and snapshot.vectors[row].size]
    for kind, description, which in (
        ("no vector", "Chunks have no vector, so the vector leg cannot find them", missing),
        ("other length", f"Vectors are not {usual:,} numbers long, as the others are", other),
        ("NaN", "Vectors have numbers that are not finite", broken.tolist()),
        ("zero", "Vectors are all zero: they are as near to every question", zero.tolist()),
        ("not unit", "Vectors are not of length 1, so a dot product is no cosine", long.tolist()),
        ("unreachable", "Chunks carry another model's name, and no leg searches them", away),
    ):
        yield from _fault(snapshot, kind, description, [_row_name(snapshot, row) for row in which], of)


def _usual(snapshot: StoreSnapshot) -> int:
    sizes = Counter(vector.size for vector in snapshot.vectors if vector.size)
    return sizes.most_common(1)[0][0] if sizes else 0


def _matrix(snapshot: StoreSnapshot) -> tuple[Rows, Vectors]:
    """The rows whose vectors have the usual length, and these vectors."""
    usual = _usual(snapshot)
    rows = [row for row, vector in enumerate(snapshot.vectors) if vector.size == usual and usual]
    kept = np.array([snapshot.vectors[row] for row in rows], np.float32).reshape(len(rows), usual)
    return np.array(rows, np.int64), kept


def _model(snapshot: StoreSnapshot) -> Embedder | None:
    """The local model that a store names, or the packaged one where it may be that; None if it cannot be."""
    if snapshot.kind == "ours":
        return local_embedder(snapshot.model, snapshot.revision) if snapshot.model == PACKAGED_MODEL else None
    packaged = LocalEmbedder(reading=Truncated())
    known = snapshot.model.rpartition("/")[2] in ("", PACKAGED_MODEL)
    return packaged if known and _usual(snapshot) == packaged.dimensions else None


def _again(snapshot: StoreSnapshot, embedder: Embedder | None, named: bool, only: str) -> Iterator[Fault]:
    """Vectors that are not those of their texts: a sample is embedded again.

    Without a named model nothing is said unless half of the sample agrees with the packaged one.
    """
    if embedder is None:
        return
    rows, matrix = _matrix(snapshot)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    sound = np.isfinite(matrix).all(axis=1) & (norms[:, 0] > 0)
    rows, units = rows[sound], matrix[sound] / norms[sound]
    if not rows.size:
        return
    sample = _sample(snapshot, rows, units)
    if only:
        there = [n for n, row in enumerate(rows) if snapshot.paths[row] == only]
        own = [n for n in there if len(snapshot.texts[rows[n]]) <= WHOLE and snapshot.texts[rows[n]].strip()]
        # The shortest ones: what a model reads of a text is most of what an explanation costs.
        few = [sorted(some, key=lambda n: len(snapshot.texts[rows[n]]))[:FEW] for some in (sample, own)]
        sample = sorted({*few[0], *few[1]})
    if not sample:
        return
    if _usual(snapshot) != embedder.dimensions:
        if named:
            description = (
                f"{embedder.name} makes vectors of {embedder.dimensions:,} numbers, not {_usual(snapshot):,}"
            )
            yield from _fault(
                snapshot, "other model", description, [_row_name(snapshot, int(rows[0]))], len(rows)
            )
        return
    texts = [snapshot.texts[rows[one]] for one in sample]
    alike = cosines_again(embedder, texts, units[sample])
    bad = [one for one, cosine in zip(sample, alike, strict=True) if cosine < SAME_VECTOR]
    good = [one for one in sample if one not in bad]
    if not named and len(good) < len(bad):
        return
    yield from _prefix_of_query(snapshot, embedder, texts[0])
    bare = _bare(snapshot, embedder, texts, units[sample])
    if bare:
        yield bare
        return
    yield from _foreign(snapshot, rows, units, good, bad, alike[[sample.index(one) for one in bad]])


def _sample(snapshot: StoreSnapshot, rows: Rows, units: Vectors) -> list[int]:
    """Places of `rows`: some spread evenly, and those whose vectors are farthest from the mean of all."""
    most = WHOLE if snapshot.kind == "ours" else LONG
    lengths = [len(snapshot.texts[row]) for row in rows]
    short = [n for n, row in enumerate(rows) if lengths[n] <= most and snapshot.texts[row].strip()]
    if not short:
        return []
    even = short[:: max(1, -(-len(short) // SAMPLED))]
    middle = units[short].mean(axis=0)
    farthest = np.argsort(units[short] @ middle, kind="stable")[:SAMPLED]
    return sorted({*even, *(short[one] for one in farthest)})


def _foreign(
    snapshot: StoreSnapshot, rows: Rows, units: Vectors, good: list[int], bad: list[int], alike: NDArray[Any]
) -> Iterator[Fault]:
    """Another model, all over or mixed in, or another text: a vector of this model lies among its others.

    `good` and `bad` are places of `rows` and `units`; `alike` has the cosines of the bad ones.
    """
    if not bad:
        return
    of = len(good) + len(bad)
    told = [_row_name(snapshot, int(rows[one])) for one in bad]
    cosines = f"; cosines of {min(alike):.2f} to {max(alike):.2f} with their texts embedded again"
    if not good:
        yield from _fault(snapshot, "other model", "The vectors are of another model" + cosines, told, of)
        return
    middle = units[good].mean(axis=0)
    among = np.median(units[bad] @ middle) >= np.median(units[good] @ middle) / 2
    description = "Vectors are those of another text" if among else "Vectors of another model are mixed in"
    modes = f" ({len(good)} of {of} sampled chunks agree)"
    yield from _fault(
        snapshot, "other text" if among else "mixed models", description + modes + cosines, told, of
    )


# Prefixes


def _wanted(embedder: Embedder) -> dict[str, str] | None:
    name = embedder.name.lower()
    return next((one for one in PREFIXES if re.search(one["family"], name)), None)


def _bare(snapshot: StoreSnapshot, embedder: Embedder, texts: Sequence[str], stored: Vectors) -> Fault | None:
    """The missing prefix of passages: the stored vectors are those of the texts without it."""
    wanted = _wanted(embedder)
    if wanted is None or not wanted["passage"]:
        return None
    without, with_it = _both(embedder, texts, wanted["passage"], "passage")
    lacks = np.einsum("ij,ij->i", stored, without) >= SAME_VECTOR
    has = np.einsum("ij,ij->i", stored, with_it) >= SAME_VECTOR
    which = [text for text, one, other in zip(texts, lacks, has, strict=True) if one and not other]
    description = (
        f"Passages were embedded without the prefix {wanted['passage']!r} that {embedder.name} asks for"
    )
    return next(
        _fault(
            snapshot, "passage prefix", description, [" ".join(one.split())[:60] for one in which], len(texts)
        ),
        None,
    )


def _prefix_of_query(snapshot: StoreSnapshot, embedder: Embedder, asked: str) -> Iterator[Fault]:
    wanted = _wanted(embedder)
    if wanted is None:
        return
    without, with_it = _both(embedder, [asked], wanted["query"], "query")
    made = embedder.embed([asked], "query").vectors
    if float(made[0] @ without[0]) >= SAME_VECTOR > float(made[0] @ with_it[0]):
        description = (
            f"Questions are embedded without the prefix {wanted['query']!r} that {embedder.name} asks for"
        )
        yield from _fault(
            snapshot, "query prefix", description, [asked], 1, f"put {wanted['query']!r} before each question"
        )


def _both(embedder: Embedder, texts: Sequence[str], prefix: str, role: Any) -> tuple[Vectors, Vectors]:
    """The vectors of texts without a prefix and with it; a model with prompts of its own adds them itself."""
    as_given = embedder.embed(texts, role).vectors
    model: Any = getattr(embedder, "model", None) if isinstance(embedder, LocalEmbedder) else None
    own = getattr(model, "prompts", None)
    if own and own.get({"passage": "document"}.get(role, role)):
        return model.encode(list(texts), prompt="", normalize_embeddings=True), as_given
    return as_given, embedder.embed([prefix + text for text in texts], role).vectors


# Keywords, and copies


def _full_text(snapshot: StoreSnapshot) -> Iterator[Fault]:
    if snapshot.full_text is None:
        return
    texts = dict(zip(snapshot.ids, snapshot.texts, strict=True))
    lacking = [
        row
        for row, one in enumerate(snapshot.ids)
        if one not in snapshot.full_text and snapshot.texts[row].strip()
    ]
    description = "The keyword index has no row for chunks, so its leg cannot find them"
    yield from _fault(
        snapshot,
        "no full text",
        description,
        [_row_name(snapshot, row) for row in lacking],
        len(snapshot.ids),
    )
    extra = [one for one in snapshot.full_text if one not in texts]
    description = "The keyword index has rows of chunks that are gone"
    yield from _fault(snapshot, "full-text ghosts", description, extra, len(snapshot.full_text))
    differ = [
        row for row, one in enumerate(snapshot.ids) if snapshot.full_text.get(one, texts[one]) != texts[one]
    ]
    description = "The keyword index has other words than the chunks"
    yield from _fault(
        snapshot,
        "full text differs",
        description,
        [_row_name(snapshot, row) for row in differ],
        len(snapshot.ids),
    )


def _copies(snapshot: StoreSnapshot) -> Iterator[Fault]:
    by_text: dict[str, list[int]] = {}
    for row, text in enumerate(snapshot.texts):
        by_text.setdefault(" ".join(text.split()), []).append(row)
    many = [rows for text, rows in by_text.items() if text and len(rows) >= COPIES]
    which = [_row_name(snapshot, row) for rows in sorted(many, key=len, reverse=True) for row in rows]
    description = f"The same text is stored {COPIES} times or more, and its copies crowd an answer"
    yield from _fault(
        snapshot, "copies", description, which, len(snapshot.ids), "keep one of the copies, then index again"
    )


# An open index


def held_by(index: OpenIndex) -> StoreSnapshot | None:
    """What an open index holds; None for one that keeps no file of ours and gives no vectors."""
    if isinstance(index, MemoryIndex) and isinstance(index.store, Store):
        found = ours(index.store.db, index.name)
        if index.root is None:
            return found
        return replace(found, folder=index.root, repair=f"{index.update_command} --rebuild")
    try:
        rows, vectors = index.vectors()
    except WorkbenchError:
        return None
    chunks = index.chunks(rows)
    return StoreSnapshot(
        name=index.name,
        kind="an open index",
        repair=f"{index.update_command} --rebuild",
        ids=[one.id for one in chunks],
        paths=[one.path for one in chunks],
        texts=[one.text for one in chunks],
        vectors=list(vectors),
        model=index.model,
        shares=[one.read_share for one in chunks],
    )


def faults_of_file(index: OpenIndex, path: str) -> list[Fault]:
    """The faults of an open index that concern one file."""
    snapshot = held_by(index)
    return [] if snapshot is None else faults(snapshot, index.embedder, only=path)


LARGEST = 5_000
"""An explanation looks at an index of up to so many chunks; the doctor looks at any."""


def remarks_on_file(index: OpenIndex, path: str, without: Collection[str] = ()) -> list[str]:
    """One remark for each fault of the index that concerns the file that is explained.

    What is of a kind in `without` is said elsewhere, and left out.
    """
    found = faults_of_file(index, path) if index.size <= LARGEST else []
    return [f"{path}: {one}" for one in found if one.kind not in without]
