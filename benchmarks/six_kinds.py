"""Planted faults of six kinds, and what `diagnose` says first: `python -m benchmarks.six_kinds [--held]`.

The kinds are settings, the index, code of one's own, the data, foreign engines and the question itself.
Every second fault of each kind is held out: `--held` runs those alone. Printed are, for each kind, how often
the first cause is where the fault is, and of the repairs that are printed as a command or as Python, how many
bring the file when they are pasted into an empty shell or interpreter.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.faults import ACME, SUM, Copies, FirstFolder, Half, LongWords, Product, Reference
from benchmarks.pasting import holds, indexed_copy
from tests.lab.diagnose.faults import OtherModel, ShiftedVectors, WorstFirst
from workbench.contracts import Index
from workbench.errors import InputError
from workbench.measure.questions import QuestionSet, load_questions
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.retrieval.cutoff import Limit, MinScore
from workbench.retrieval.index_adapters import CachedIndex
from workbench.retrieval.legs import FixedDepth
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.diagnose.diagnosis import diagnose
from workbench_plugins.diagnose.page import Diagnosis
from workbench_plugins.engines.lists import Asked
from workbench_plugins.recorder.recorded_index import TopK
from workbench_plugins.recorder.recording import Recorder, record

Told = tuple[Diagnosis, bool | None]
"""A diagnosis, and whether its printed repairs hold; None where none can be pasted."""
Run = Callable[[Index, QuestionSet, Path], Told]
SAMPLE = Path("sample_memory")


@dataclass(frozen=True)
class Planted:
    """A fault of one kind, where it is, and the diagnosis of it."""

    kind: str
    name: str
    where: tuple[str, ...]
    run: Run


def lost(good: Pipeline, broken: Pipeline, of_index: Callable[[Index], Index] = lambda index: index) -> Run:
    """The diagnosis of the first question that the good pipeline answers and the broken one does not."""

    def run(index: Index, questions: QuestionSet, base: Path) -> Told:
        other = of_index(index)
        asked = next(
            one
            for one in questions.questions
            if one.target in search(one.question, good, index).paths()
            and one.target not in search(one.question, broken, other).paths()
        )
        found = diagnose(asked.question, broken, other, asked.target, questions=questions)
        return found, holds(found, base) if other is index else None

    return run


def settings(system: str, setting: str) -> Planted:
    good = SYSTEMS[system]
    run = lost(good, with_settings(good, [setting]))
    return Planted("settings", f"{system} {setting}", (setting.partition(".")[0],), run)


def asked(question: str, target: str, system: str = "openclaw-2026.2.13+or+rrf+minmax+evidence") -> Planted:
    def run(index: Index, questions: QuestionSet, base: Path) -> Told:
        found = diagnose(question, SYSTEMS[system], index, target, questions=questions)
        return found, holds(found, base)

    return Planted("question", question[:40], ("question",), run)


NOTES = {
    "memory/tea.md": "# Tea\nRooibos tea rests for seven minutes in the red pot.\n",
    "memory/bike.md": "# Bike\nThe rear hub of the bike has a loose cone.\n",
    "memory/roof.md": "# Roof\nThe roof of the shed leaks beside the chimney.\n",
}


def data(name: str, target: str, change: Callable[[Path], None], first: bool = True) -> Planted:
    """A folder whose file is not read: changed before it is indexed, or `first` false, after that."""

    def run(_: Index, __: QuestionSet, ___: Path) -> Told:
        with folder() as root:
            file = root / "index"
            if first:
                change(root / "notes")
            index_folder(root / "notes", options=Options(index_path=file, skip=True))
            if not first:
                change(root / "notes")
            with open_index(root / "notes", index_path=file) as index:
                found = diagnose("how warm is the greenhouse", SYSTEMS["recommended"], index, target)
            return found, holds(found, root)

    return Planted("data", name, ("index",), run)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        for name, text in NOTES.items():
            file = Path(made) / "notes" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        yield Path(made)


GREEN = "The greenhouse is eighteen degrees warm at night.\n"


def note(name: str, content: bytes = GREEN.encode()) -> Callable[[Path], None]:
    def write(root: Path) -> None:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    return write


def linked(root: Path) -> None:
    note("else.txt")(root)
    (root / "memory/green.md").symlink_to(root / "else.txt")


def lists(name: str, where: tuple[str, ...], target: str, **given: object) -> Planted:
    def run(_: Index, __: QuestionSet, ___: Path) -> Told:
        return record("tea pot", **given).diagnose(target), None  # type: ignore[arg-type]

    return Planted("foreign", name, where, run)


TEXTS = {path: text.lower() for path, text in NOTES.items()} | {
    f"memory/other{n}.md": f"the paper number {n} of the archive" for n in range(6)
}


def legs(read: Callable[[str], str], shown: list[str], depth: int = 9) -> dict[str, Asked]:
    def ask(question: str, most: int) -> list[tuple[str, float | None]]:
        words = re.findall(r"\w+", read(question))
        found = {id_: float(sum(text.split().count(word) for word in words)) for id_, text in TEXTS.items()}
        best = sorted((one for one in found if found[one]), key=lambda one: (-found[one], one))
        return [(one, found[one]) for one in best[:most]]

    def near(_: str, most: int) -> list[tuple[str, float | None]]:
        return [(one, 1 - place / 20) for place, one in enumerate(shown)][:most]

    return {"vector": Asked(near, TopK(cap=depth)), "keyword": Asked(ask, TopK(cap=depth))}


def engine(name: str, where: tuple[str, ...], question: str, target: str, made: Recorder) -> Planted:
    def run(_: Index, __: QuestionSet, ___: Path) -> Told:
        return made.record(question).diagnose(target), None

    return Planted("foreign", name, where, run)


OTHERS = [one for one in TEXTS if "other" in one]
LAST = [*OTHERS, "memory/bike.md", "memory/roof.md", "memory/tea.md"]
CHAT = (
    "Morning all, the meeting went on for ever and nobody brought cake, so I left at noon and walked home in "
    "the rain.\nPetra: same here, and my phone died.\n{} \nAnyway see you at the pub on Friday, bring cards, "
    "and tell Jo that the van is fixed and that her jacket is still on the chair by the window."
)
BACKUP, BREAD = "memory/reference/backup-and-restore.md", "memory/recipes/gluten-free-bread.md"

PLANTED = [
    settings("openclaw-2026.2.13+or+rrf+minmax", "floor.floor=0.9"),
    settings("bm-head", "limit.count=1"),
    settings("openclaw-2026.7.1", "fusion.vector=0.02"),
    settings("engine-qdrant-dbsf", "limit.count=1"),
    settings("openclaw-2026.2.13-vector-only", "floor.floor=0.6"),
    settings("recommended", "limit.count=2"),
    settings("openclaw-2026.2.13+or+rrf+minmax", "query.join=AND"),
    settings("am-205", "limit.count=1"),
    Planted("index", "another model", ("vectors",), lost(ACME, ACME, OtherModel)),
    Planted("index", "vectors of other rows", ("vectors",), lost(ACME, ACME, ShiftedVectors)),
    Planted("index", "two of three", ("vectors",), lost(ACME, ACME, Half)),
    Planted("index", "copies", ("index",), lost(SYSTEMS["openclaw-2026.2.13-vector-only"],
            SYSTEMS["openclaw-2026.2.13-vector-only"], Copies)),
    Planted("own Python", "worst first", ("order",), lost(ACME, ACME.with_stage(WorstFirst()))),
    Planted("own Python", "an order by id", ("order",), lost(ACME, ACME.with_stage(Reference()))),
    Planted("own Python", "long words", ("query",), lost(ACME, ACME.with_stage(LongWords()))),
    Planted("own Python", "a product", ("fusion",), lost(ACME, ACME.with_stage(Product()))),
    Planted("own Python", "one folder", ("vector_leg",),
            lost(ACME, ACME.with_stage(FirstFolder(FixedDepth(cap=25))))),
    Planted("own Python", "a floor of percents", ("floor",), lost(SUM, SUM.with_stage(MinScore(0.85)))),
    Planted("own Python", "one result", ("limit",), lost(SUM, SUM.with_stage(Limit(1)))),
    data("capitals", "memory/green.md", note("memory/GREEN.MD")),
    data("outside memory/", "green.md", note("green.md")),
    data("a hidden folder", "memory/green.md", note("memory/.old/green.md")),
    data("UTF-16", "memory/green.md", note("memory/green.md", GREEN.encode("utf-16"))),
    data("a text file", "memory/green.md", note("memory/green.txt")),
    data("a link", "memory/green.md", linked),
    data("not downloaded", "memory/green.md", note("memory/green.md.icloud")),
    data("new since", "memory/green.md", note("memory/green.md"), first=False),
    lists("ids with ./", ("ids",), "tea", legs={"vector": [("./a", 0.9), ("./b", 0.8), ("./tea", 0.7)],
          "keyword": [("c", 3.0), ("d", 2.0), ("tea", 1.0)]}, fusion="rrf-60", limit=2),
    lists("ids in capitals", ("ids",), "tea", legs={"vector": [("A", 0.9), ("B", 0.8), ("Tea", 0.7)],
          "keyword": [("c", 3.0), ("d", 2.0), ("tea", 1.0)]}, fusion="rrf-60", limit=2),
    lists("upside down", ("vector_leg",), "tea", legs={"vector": [("a", 0.1), ("b", 0.5), ("tea", 0.9)],
          "keyword": [("c", 3.0)]}, fusion="rrf-60", limit=2),
    engine("a filter", ("vector_leg",), "archive paper", "memory/tea.md",
           Recorder("acme", legs(str.lower, OTHERS), "rrf-60", limit=3, texts=TEXTS)),
    engine("another tokenizer", ("keyword_leg",), "rooibos tea", "memory/tea.md",
           Recorder("acme", legs(str.upper, LAST, 4), "rrf-60", limit=3, texts=TEXTS)),
    engine("no IDF", ("keyword_leg",), "the rooibos of", "memory/tea.md",
           Recorder("acme", {"keyword": legs(str.lower, LAST)["keyword"]}, limit=2, texts=TEXTS)),
    asked("wo liegt die Anleitung für das Wiederherstellen der Sicherung", BACKUP),
    asked("comment est cuit le pain et où est la recette pour nous", BREAD),
    asked(CHAT.format("By the way, how do I restore the backup of heron?"), BACKUP),
    asked(CHAT.format("What was the flour in the gluten free bread?"), BREAD, "openclaw-2026.7.1"),
    asked("Dec 14th, 2025", "memory/2025-12-14.md"),
    asked("23.12.2025", "memory/2025-12-23.md"),
    asked("NAS", BACKUP),
    asked("где рецепт хлеба без глютена", BREAD),
]  # fmt: skip


def main() -> None:
    """Prints a line for each fault, and the sums."""
    held = "--held" in sys.argv
    questions = load_questions(SAMPLE / "questions.yaml")
    named: dict[str, list[bool]] = {}
    claims: list[bool] = []
    with indexed_copy(SAMPLE) as base, open_index(base / "notes", index_path=base / "index") as opened:
        index = CachedIndex(opened)
        for one in PLANTED[1::2] if held else PLANTED[::2]:
            try:
                found, works = one.run(index, questions, base)
            except (StopIteration, InputError):  # the answer is right in spite of the fault
                print(f"no question is lost by {one.name}", flush=True)
                continue
            first = found.causes[0] if found.causes else None
            right = first is not None and bool(set(one.where) & set(first.where))
            named.setdefault(one.kind, []).append(right)
            claims += [] if works is None else [works]
            told = f"{' and '.join(first.where)}: {first.description}" if first else "no cause"
            print(f"{one.kind}: {'yes' if right else 'NO '} {one.name}: {told:.100}", flush=True)
            if works is False:
                print("    a repair that is printed does not bring the file")
    for kind, some in named.items():
        print(f"{kind}: cause first in {sum(some)} of {len(some)}")
    every = [right for some in named.values() for right in some]
    print(f"all: cause first in {sum(every)} of {len(every)}")
    print(f"of {len(claims)} claimed repairs {sum(claims)} hold")


if __name__ == "__main__":
    main()
