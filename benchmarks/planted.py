"""Faults in a boatyard's notes, and whether `diagnose` names them: `python -m benchmarks.planted [--held]`.

They are of the six kinds of `benchmarks.six_kinds`, and none is of a sort that is planted there. Every second
fault of each kind is held out: `--held` runs those alone. A fault counts as named if the first line of the
answer has the words that only its true cause has. Every repair that is printed as a command, as JSON or as
Python is pasted as it stands: into an empty shell, which knows the commands alone, into the openclaw.json, or
into an empty interpreter. It holds if the file is in the answer then. With `--list` the whole answers are
printed. `--only=NAME` runs one fault.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from benchmarks.boatyard import BOATS, NOTES, QUESTIONS, write
from benchmarks.faults import ACME, SUM
from benchmarks.pasting import json_paths, pasted, python_works
from workbench.cli import entry
from workbench.contracts import Context, Index
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded, LocalEmbedder
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.records import Clause, DropKind, Hits, Query, Threshold, Trace, Vector
from workbench.retrieval.columns import ColumnStage, Numbers, PlainStage
from workbench.retrieval.cutoff import Limit, dropped
from workbench.retrieval.fusion import WeightedSum
from workbench.retrieval.index_adapters import CachedIndex, IndexAdapter
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.query import ascii_words, with_query
from workbench.systems.openclaw import WORKAROUND
from workbench.terminal import text_of
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.engines.lists import Asked
from workbench_plugins.recorder.recorded_index import TopK
from workbench_plugins.recorder.recording import Recorder, record

Notes = Mapping[str, str]


@dataclass(frozen=True)
class Planted:
    """A fault of one kind, words that its true cause has, and how its diagnosis is printed.

    `printed` gives what is printed, and whether every repair that can be pasted brings the file (None without
    one).
    """

    kind: str
    name: str
    words: str
    printed: Callable[[Path], tuple[str, bool | None]]


class NotLostError(Exception):
    """The fault loses no answer: it must be planted stronger."""


def run(*words: str, errors: bool = True) -> str:
    """What a command prints, with its errors or without."""
    told, other = io.StringIO(), io.StringIO()
    wrong = contextlib.redirect_stderr(told if errors else other)
    typed = mock.patch.object(sys, "argv", ["workbench", *words])
    with contextlib.redirect_stdout(told), wrong, typed, contextlib.suppress(SystemExit):
        entry.run()
    return told.getvalue()


def paths(root: Path, question: str, *options: str) -> list[str]:
    where = ("-m", str(root), "--index", str(root.parent / "index"))
    printed = run("search", question, *where, "--json", *options, errors=False)
    return json_paths(printed)


def command(root: Path, question: str, target: str, *options: str) -> tuple[str, bool | None]:
    """What `diagnose` prints for a question whose file is not in the answer."""
    where = ("-m", str(root), "--index", str(root.parent / "index"))
    if target in paths(root, question, *options):
        raise NotLostError
    printed = run("diagnose", question, "-t", target, *where, *options)
    return printed, pasted(printed, target, shlex.join(["workbench", "search", question, *where, *options]))


def indexed(root: Path, *options: str) -> None:
    run("index", str(root), "--index", str(root.parent / "index"), *options)


def settings(name: str, words: str, *options: str, good: str, config: str = "") -> Planted:
    """A registered system with options that lose the first question which it answers without them."""

    def printed(root: Path) -> tuple[str, bool | None]:
        write(root, NOTES)
        indexed(root)
        if config:
            (root.parent / "openclaw.json").write_text(config, encoding="utf-8")
        given = [one.replace("FILE", str(root.parent / "openclaw.json")) for one in options]
        for question, target in QUESTIONS.items():
            if target in paths(root, question, "-s", good):
                with contextlib.suppress(NotLostError):
                    return command(root, question, target, *given)
        raise NotLostError

    return Planted("settings", name, words, printed)


def lost(
    good: Pipeline,
    broken: Pipeline,
    index: Index,
    other: Index,
    questions: Mapping[str, str] = QUESTIONS,
) -> tuple[str, bool | None]:
    for question, target in questions.items():
        if target in search(question, good, index).paths() and (
            target not in search(question, broken, other).paths()
        ):
            printed = text_of(diagnose(question, broken, other, target).view(), details=True)
            return printed, None if index is not other else python_works(printed, target)
    raise NotLostError


def code(
    name: str,
    words: str,
    *stages: Any,
    base: Pipeline = ACME,
    kind: str = "own Python",
    of_index: Callable[[Index], Index] = lambda one: one,
    notes: Mapping[str, str] = NOTES,
    questions: Mapping[str, str] = QUESTIONS,
) -> Planted:
    """Stages of one's own, or an index of one's own, in a pipeline without the name of a system."""

    def printed(root: Path) -> tuple[str, bool | None]:
        write(root, notes)
        index_folder(root, options=Options(index_path=root.parent / "index"))
        broken = base
        for stage in stages:
            broken = broken.with_stage(stage)
        with open_index(root, index_path=root.parent / "index") as opened:
            index = CachedIndex(opened)
            return lost(base, replace(broken, changes=()), index, of_index(index), questions)

    return Planted(kind, name, words, printed)


def data(
    kind: str,
    name: str,
    words: str,
    question: str,
    target: str,
    *options: str,
    notes: Notes | None = None,
    before: Callable[[Path], None] | None = None,
    after: Callable[[Path], None] | None = None,
    index: tuple[str, ...] = (),
    vectors: Callable[[Vectors], Vectors] | None = None,
) -> Planted:
    """The boatyard with other notes beside it, changed before or after it is indexed.

    With `vectors`, the index holds others than the model makes, under the model's name.
    """

    def printed(root: Path) -> tuple[str, bool | None]:
        write(root, {**NOTES, **(notes or {})})
        if before is not None:
            before(root)
        with contextlib.nullcontext() if vectors is None else embedding(vectors):
            indexed(root, *index)
        if after is not None:
            after(root)
        return command(root, question, target, *options)

    return Planted(kind, name, words, printed)


# Indexes

Vectors = NDArray[np.float32]


def embedding(change: Callable[[Vectors], Vectors]) -> Any:
    """The local model with other vectors of passages."""
    right = LocalEmbedder.embed

    def embed(self: LocalEmbedder, texts: Sequence[str], role: Role) -> Embedded:
        made = right(self, texts, role)
        return replace(made, vectors=change(made.vectors)) if role == "passage" else made

    return mock.patch.object(LocalEmbedder, "embed", embed)


def constant(vectors: Vectors) -> Vectors:
    """Vectors of a model that failed: they are all the same."""
    return np.tile(np.eye(1, vectors.shape[1], dtype=np.float32), (len(vectors), 1))


def first_dimensions(vectors: Vectors) -> Vectors:
    """Vectors of a sixteenth of the dimensions: the rest is filled with zeros."""
    kept = np.where(np.arange(vectors.shape[1]) < vectors.shape[1] // 16, vectors, 0)
    return (kept / np.linalg.norm(kept, axis=1, keepdims=True)).astype(np.float32)


class NoWords(IndexAdapter):
    """A full-text table that was never filled, and vectors of which only the farthest are reached."""

    def keyword(self, query: Query, limit: int) -> Hits:
        every = self.inner.keyword(query, 0)
        return Hits(every.rows[:0], every.raw[:0])

    def vector(self, query: Vector, limit: int) -> Hits:
        every = self.inner.vector(query, self.size)
        return Hits(every.rows[8:][:limit], every.raw[8:][:limit])


# Code of one's own


@dataclass(frozen=True)
class NoDigits(PlainStage, slot="query"):
    """A query without the words that have digits."""

    description: ClassVar[str] = "MATCH = words without digits, joined with AND"

    def run(self, trace: Trace, context: Context) -> Trace:
        words = [one for one in ascii_words(trace.question) if one.isalpha() and len(one) > 4]
        return with_query(trace, context, Query(tuple(map(Clause, words)), "AND") if words else None)


@dataclass(frozen=True)
class TwoWords(PlainStage, slot="query"):
    """A query of the first two words."""

    description: ClassVar[str] = "MATCH = the first two words, joined with OR"

    def run(self, trace: Trace, context: Context) -> Trace:
        return with_query(trace, context, Query(tuple(map(Clause, ascii_words(trace.question)[:2])), "OR"))


@dataclass(frozen=True)
class LastOfFolder(PlainStage, slot="fold"):
    """A fold that keeps the worst chunk of each folder in place of the best."""

    description: ClassVar[str] = "fold: keep the last of each folder"

    def run(self, trace: Trace, context: Context) -> Trace:
        seen: dict[str, int] = {}
        ranks = np.full(trace.rows.size, np.nan)
        for row in trace.order.tolist()[::-1]:
            part = trace.chunks[row].path.split("/")[0]
            ranks[row] = seen[part] = seen.get(part, 0) + 1
        return dropped(trace, self, DropKind.FOLD, Threshold("rank in its folder", ranks, 1, at_most=True))


@dataclass(frozen=True)
class Inverse(ColumnStage, slot="keyword_score", output="keyword_score"):
    """A keyword score that falls as the match gets better."""

    description: ClassVar[str] = "keyword score = 40 / |bm25|"

    def formula(self, of: Numbers) -> Any:
        return 40 / np.abs(of["keyword_raw"])


@dataclass(frozen=True)
class Whole(ColumnStage, slot="vector_score", output="vector_score"):
    """A vector score that is cut to a whole number."""

    description: ClassVar[str] = "vector score = the cosine as a whole number"

    def formula(self, of: Numbers) -> Any:
        return -np.ceil(1 - of["vector_raw"])


@dataclass(frozen=True)
class FromSecond(Limit):
    """A limit that begins to count at the second result."""

    @property
    def description(self) -> str:
        return "limit: keep the results 2 to 7"

    def run(self, trace: Trace, context: Context) -> Trace:
        ranks = np.full(trace.rows.size, np.nan)
        ranks[trace.order] = np.arange(1.0, trace.order.size + 1)
        shifted = Threshold("rank", np.where(ranks == 1, 99, ranks), 7, at_most=True)
        return dropped(trace, self, DropKind.LIMIT, shifted)


# Other engines

TEXTS = {f"{name.removesuffix('.md')}": " ".join(text.split()) for name, text in NOTES.items()}
IDS = sorted(TEXTS)


def recorded(name: str, words: str, question: str, target: str, **given: Any) -> Planted:
    return Planted("foreign", name, words, lambda _: shown(record(question, **given), target))


def engine(name: str, words: str, question: str, target: str, of: Recorder) -> Planted:
    return Planted("foreign", name, words, lambda _: shown(of.record(question), target))


def shown(made: Any, target: str) -> tuple[str, None]:
    if target in made.trace.paths():
        raise NotLostError
    return text_of(made.diagnose(target).view()), None


def by_words(read: Callable[[str], list[str]]) -> Callable[..., Any]:
    def ask(question: str, most: int) -> list[tuple[str, float | None]]:
        words = {*read(question)}
        found = {id_: len([one for one in words_in(text) if one in words]) for id_, text in TEXTS.items()}
        best = sorted((one for one in found if found[one]), key=lambda one: (-found[one], one))
        return [(one, 7.0 * found[one]) for one in best[:most]]

    return ask


def words_in(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def words_of(question: str) -> list[str]:
    return [one for one in words_in(question) if len(one) > 3]


def berth_alone(_: str) -> list[str]:
    """A query that does not have the question's words."""
    return ["berth"]


def always(order: list[str]) -> Callable[..., Any]:
    return lambda _, most: [(one, 0.9 - rank / 100) for rank, one in enumerate(order)][:most]


def before_filter(ids: list[str], keep: str) -> Callable[..., Any]:
    return lambda _, most: [
        (one, 0.9 - rank / 100) for rank, one in enumerate(ids[:most]) if one.startswith(keep)
    ]


BOATS_FIRST = [one for one in IDS if one.startswith("boats/")] + [one for one in IDS if "boats/" not in one]
LAST = [*[one for one in IDS if one != "rules/dogs"], "rules/dogs"]

# Notes


def changed(name: str, text: str) -> Callable[[Path], None]:
    return lambda root: write(root, {name: text})


def renamed(root: Path) -> None:
    (root / "rules/dogs.md").rename(root / "rules/animals.md")


def in_bytes(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda root: (root / name).write_bytes(content) and None


RACK = "# Mast\n\nThe mast rack holds twelve masts; the height of the rack is two metres.\n"


def copies(root: Path) -> None:
    for day in range(1, 10):
        name = f"yard/old-mast.sync-conflict-202511{day:02}-0915.md"
        write(root, {name: RACK})
    write(root, {"yard/mast.md": "# Drawing\n\nSee sheet four: arms at 2 m, 12 places, painted by Bram.\n"})


WORDS = SUM.with_stage(WeightedSum(0.1, 0.9)).with_stage(Limit(1))
NEAREST = WORKAROUND.with_stage(Limit(2))
CHECKED = "the crew checked lines, covers and the bilge, and found nothing."
LOG = "\n".join(f"- On day {day} {CHECKED}" for day in range(1, 90))
OTHERS = {
    f"boats/{name}-engine.md": f"# Engine of the {name}\n\nThe engine of the {name} needs oil 10W-{at}0.\n"
    for at, name in enumerate(BOATS[1:9], 1)
}
CONFIG = '{"agents": {"defaults": {"memorySearch": {"query": {%s}}}}}'
OLD = ("-s", "openclaw-2026.2.13")
OR = ("-s", "openclaw-2026.2.13+or")
VECTORS = ("-s", "openclaw-2026.2.13-vector-only")
NEW = ("-s", "openclaw-2026.9.6")

PLANTED = [
    settings(
        "the score of another change",
        "keyword.score|floor|score below",
        *OR,
        "--set",
        "keyword_score=openclaw-2026.2.13+abs",
        "--min-score",
        "0.62",
        good="openclaw-2026.2.13+or",
    ),
    settings(
        "the fusion of another system",
        "fusion|floor",
        *OR,
        "--set",
        "fusion=engine-rrf-60",
        good="openclaw-2026.2.13+or",
    ),
    settings(
        "--min-score",
        "floor|score below",
        *VECTORS,
        "--min-score",
        "0.72",
        good="openclaw-2026.2.13-vector-only",
    ),
    settings(
        "two settings at once",
        "floor",
        "-s",
        "openclaw-2026.2.13+or+rrf+minmax",
        "--set",
        "query.join=AND",
        "--set",
        "floor.floor=0.8",
        good="openclaw-2026.2.13+or+rrf+minmax",
    ),
    settings(
        "a file with a high minScore",
        "floor|minScore",
        "-s",
        "openclaw-2026.2.13@FILE",
        good="openclaw-2026.2.13",
        config=CONFIG % '"minScore": 0.75',
    ),
    settings(
        "a file without weight for vectors",
        "fusion|vectorWeight|weight",
        "-s",
        "openclaw-2026.2.13@FILE",
        good="openclaw-2026.2.13",
        config=CONFIG % '"hybrid": {"vectorWeight": 0.05, "textWeight": 0.95}',
    ),
    data(
        "index",
        "edited since",
        "Cause: index",
        "where is the spare rudder kept",
        "yard/fire.md",
        "--set",
        "limit.count=1",
        after=changed("yard/fire.md", "# Fire\n\nThe spare rudder is kept beside the fire door.\n"),
    ),
    data(
        "index",
        "renamed since",
        "Cause: index|not in the index",
        "may dogs walk on the quay",
        "rules/animals.md",
        after=renamed,
    ),
    data(
        "index",
        "all vectors the same",
        "vectors?|same distance",
        "which berth does the Petrel have",
        "boats/petrel.md",
        *VECTORS,
        index=("--vectors",),
        vectors=constant,
    ),
    data(
        "index",
        "some dimensions",
        "vectors|embed|model",
        "which berth does the Petrel have",
        "boats/petrel.md",
        *VECTORS,
        "--limit",
        "2",
        index=("--vectors",),
        vectors=first_dimensions,
    ),
    data(
        "index",
        "huge chunks",
        "Cause: chunk",
        "which oil does the stern gland take",
        "yard/manual.md",
        *VECTORS,
        "--set",
        "limit.count=3",
        notes={"yard/manual.md": f"# Manual\n\n{LOG}\nThe stern gland takes oil of grade EP90.\n{LOG}\n"},
        index=("--chunk", "4000/0"),
    ),
    code("no words in the index", "keyword|vectors", base=ACME, kind="index", of_index=NoWords),
    code("no digits", "query", NoDigits(), base=WORDS),
    code("two words", "query", TwoWords(), base=WORDS),
    code("a fold of the worst", "fold", LastOfFolder()),
    code("a score that falls", "keyword.score", Inverse()),
    code("whole numbers", "vector.score", Whole()),
    code("from the second", "limit", FromSecond()),
    data(
        "data",
        "words cut by tags",
        "tag|HTML|markup",
        "what is the draught of the tug Bartholomew",
        "boats/tug.md",
        *OR,
        "--set",
        "limit.count=1",
        notes={
            "boats/tug.md": "# Vessel\n\n<b>B</b>artholo<i>mew</i>: dr<span>aught</span> t<i>wo metres</i>.\n"
        },
    ),
    data(
        "data",
        "Latin-1",
        "UTF-8|encod",
        "who is Jörg Müller",
        "people/joerg.md",
        before=in_bytes("people/joerg.md", "# Jörg Müller\n\nJörg Müller prüft Kräne.\n".encode("latin-1")),
        index=("--skip",),
    ),
    data(
        "data",
        "an empty file",
        "empty|no text",
        "where is the winch handle",
        "yard/winch.md",
        before=in_bytes("yard/winch.md", b""),
    ),
    data(
        "data",
        "a picture alone",
        "picture|image|embed|no text|few words|attachment",
        "what is the tide table for april",
        "yard/april.md",
        *OR,
        notes={"yard/april.md": "![[IMG_2041.png]]\n"},
    ),
    data(
        "data",
        "far from its heading",
        "Cause: chunk",
        "which oil does the engine of the Petrel need",
        "boats/petrel-engine.md",
        *OR,
        notes={**OTHERS, "boats/petrel-engine.md": f"# Engine of the Petrel\n\n{LOG}\nUse 15W-40 alone.\n"},
    ),
    data(
        "data",
        "copies by a sync",
        "cop(y|ies)|same text|duplicate",
        "how high is the mast rack",
        "yard/mast.md",
        *VECTORS,
        before=copies,
    ),
    data(
        "data",
        "soft hyphens",
        "hyphen|invisible|zero.width|character",
        "bilge pumps stairs",
        "yard/pumps.md",
        *OR,
        "--set",
        "limit.count=1",
        notes={
            "yard/hoses.md": "# Shop\n\nThe shop sells bilge paint and pumps for wells.\n",
            "yard/pumps.md": "# Bil\u00adge pum\u00adps\n\nUn\u00adder sta\u00adirs, left.\n",
        },
    ),
    data(
        "data",
        "mojibake",
        "encod|mojibake|Ã|UTF-8",
        "wo steht der Kühlschrank für Köder",
        "yard/bait.md",
        *OR,
        "--set",
        "limit.count=1",
        notes={
            "yard/rods.md": "# Angeln\n\nDer Köder darf nicht in den Kühlschrank der Küche.\n",
            "yard/bait.md": "# KÃ¼hlschrank\n\nDer KÃ¼hlschrank fÃ¼r KÃ¶der steht im Flur.\n",
        },
    ),
    recorded(
        "chunks and documents",
        "ids|two ways",
        "quay dogs",
        "dogs",
        fusion="rrf-60",
        limit=2,
        legs={
            "vector": [("crane#0", 0.9), ("van#1", 0.8), ("dogs#0", 0.7)],
            "keyword": [("fees", 9.0), ("wifi", 7.0), ("dogs", 5.0)],
        },
    ),
    recorded(
        "names and endings",
        "ids|two ways",
        "quay dogs",
        "dogs.md",
        fusion="rrf-60",
        limit=2,
        legs={
            "vector": [("crane", 0.9), ("van", 0.8), ("dogs", 0.7)],
            "keyword": [("fees.md", 9.0), ("wifi.md", 7.0), ("dogs.md", 5.0)],
        },
    ),
    engine(
        "scores of two scales",
        "scale|fusion|drown|keyword.score",
        "fire pump paint shed",
        "rules/dogs",
        Recorder(
            "acme",
            {
                "vector": Asked(always(["rules/dogs", *BOATS_FIRST]), TopK(cap=12)),
                "keyword": Asked(by_words(words_of), TopK(cap=12)),
            },
            "milvus-weighted-raw",
            limit=1,
            texts=TEXTS,
        ),
    ),
    engine(
        "a filter after five",
        "vector.leg|filter|candidates",
        "may visiting crews stay",
        "rules/guests",
        Recorder(
            "acme",
            {
                "vector": Asked(before_filter(BOATS_FIRST, "rules/"), TopK(cap=5)),
                "keyword": Asked(by_words(berth_alone), TopK(cap=5)),
            },
            "rrf-60",
            limit=3,
            texts=TEXTS,
        ),
    ),
    engine(
        "one list for all questions",
        "same (list|answer|order)|whatever|every question",
        "may dogs walk on the quay",
        "rules/dogs",
        Recorder(
            "acme",
            {
                "vector": Asked(always(LAST), TopK(cap=12)),
                "keyword": Asked(by_words(berth_alone), TopK(cap=12)),
            },
            "rrf-60",
            limit=4,
            texts=TEXTS,
        ),
    ),
    engine(
        "no stems",
        "keyword.leg|stem|tokeni|word",
        "compressors belts servicing",
        "log/2026-01-19",
        Recorder(
            "acme",
            {
                "vector": Asked(always(LAST[:12]), TopK(cap=12)),
                "keyword": Asked(by_words(words_of), TopK(cap=12)),
            },
            "rrf-60",
            limit=4,
            texts=TEXTS,
        ),
    ),
    recorded(
        "a floor of cosines on ranks",
        "floor",
        "quay dogs",
        "dogs",
        fusion="rrf-60",
        floor=0.35,
        legs={"vector": [("dogs", 0.9), ("van", 0.8)], "keyword": [("fees", 9.0), ("dogs", 7.0)]},
    ),
    data("question", "misspelt", "question", "anitfoulnig bylwa", "yard/antifouling.md", *OLD),
    data(
        "question",
        "a site and a plus",
        "question|operator|site:",
        "site:rules/ +dogs -lead",
        "rules/dogs.md",
        *OLD,
    ),
    data(
        "question",
        "quotes",
        "question|quot",
        'title:"dogs" AND body:"may walk" NOT "Sundays" NEAR/5',
        "rules/dogs.md",
        *OLD,
    ),
    data("question", "a star", "question|\\*", "extinguish*", "yard/fire.md", *OLD),
    data("question", "synonyms", "question", "automobile gasoline lorry refuelling", "yard/van.md", *OLD),
    data("question", "a relative date", "question", "what happened yesterday", "log/2026-03-17.md"),
    data(
        "question",
        "a negation",
        "question|not|without",
        "boats that are not painted grey or white, not at berth 5",
        "boats/teal.md",
        *NEW,
        "--set",
        "limit.count=2",
    ),
]
HELD = {"a relative date", "a negation"}


def halves(planted: Sequence[Planted], held: bool, also_held: Collection[str] = ()) -> Iterator[Planted]:
    """Every second fault of each kind, and those that are held out by name; or all others."""
    seen: dict[str, int] = {}
    for one in planted:
        seen[one.kind] = seen.get(one.kind, 0) + 1
        if (seen[one.kind] % 2 == 0 or one.name in also_held) == held:
            yield one


def first_line(printed: str) -> str:
    """The line that says the cause; a remark about the index stands before it."""
    lines = [line for line in printed.strip().split("\n") if line.strip()]
    return next((line for line in lines if line.startswith(("Cause", "No cause"))), lines[0] if lines else "")


def report(planted: Sequence[Planted], also_held: Collection[str] = ()) -> None:
    """Prints a line for each fault, and the sums."""
    named: dict[str, list[bool]] = {}
    claims: list[bool] = []
    only = [one.removeprefix("--only=") for one in sys.argv if one.startswith("--only=")]
    for one in halves(planted, "--held" in sys.argv, also_held):
        if only and one.name not in only:
            continue
        with tempfile.TemporaryDirectory() as made:
            root = Path(made) / "notes"
            works: bool | None = None
            try:
                printed, works = one.printed(root)
            except NotLostError:
                print(f"{one.kind}: no answer is lost by {one.name}", flush=True)
                continue
            except Exception as error:  # a crash counts as a cause that is not named
                printed = f"{type(error).__name__}: {error}"
            first = first_line(printed)
            right = re.search(one.words, first, re.IGNORECASE) is not None
            named.setdefault(one.kind, []).append(right)
            claims += [] if works is None else [works]
            print(f"{one.kind}: {'yes' if right else 'NO '} {one.name}: {first:.150}", flush=True)
            if works is False:
                print("    a repair that is printed does not bring the file")
            if "--list" in sys.argv:
                print(printed, flush=True)
    for kind, some in named.items():
        print(f"{kind}: cause first in {sum(some)} of {len(some)}")
    every = [right for some in named.values() for right in some]
    print(f"all: cause first in {sum(every)} of {len(every)}")
    print(f"of {len(claims)} claimed repairs {sum(claims)} hold")


if __name__ == "__main__":
    report(PLANTED, HELD)
