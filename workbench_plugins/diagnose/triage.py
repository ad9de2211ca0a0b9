"""Finds the symptoms that fit somebody's words, with our own search over the descriptions of the symptoms."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Group, RenderableType

from workbench.contracts import Index
from workbench.errors import StorageError
from workbench.memory.choices import index_home
from workbench.memory.embedding.local import Embedder, LocalEmbedder
from workbench.memory.files import replaced
from workbench.memory.store.sqlite.place import make_folder
from workbench.memory.sync import index_folder, open_index
from workbench.records import Candidate, Shown
from workbench.registry import declared_module
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import WeightedSum
from workbench.retrieval.legs import FixedDepth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Pipeline, Source, search
from workbench.retrieval.query import JoinedWords, check_question
from workbench.retrieval.scoring import Cosine, MinMaxRank
from workbench.views.text import plain, rendered

if TYPE_CHECKING:
    from workbench_plugins.engines.museum import Specimen

SURE = 0.55
LIKELY = 0.35
"""Cosines with a described symptom. Below LIKELY, the words are about something else."""

MOST = 3
DEPTH = FixedDepth(cap=1_000)
PIPELINE = Pipeline(
    "triage",
    (
        JoinedWords("OR"),
        KeywordLeg(depth=DEPTH),
        VectorLeg(depth=DEPTH),
        Union(),
        MinMaxRank(),
        Cosine(),
        WeightedSum(0.95, 0.05),
        Order(),
        Limit(1_000),
    ),
    Source("hybrid-search-workbench", "0.1.0", "workbench_plugins/diagnose/triage.py"),
)


@dataclass(frozen=True)
class Symptom:
    """A symptom: its name, how people tell it, what to run, specimens of the museum, and a lesson."""

    name: str
    says: str
    phrases: list[str]
    checks: list[str]
    specimens: list[str]
    lesson: str


_FILE = Path(__file__).with_name("symptoms.toml")
SYMPTOMS = [Symptom(**one) for one in tomllib.loads(_FILE.read_text(encoding="utf-8"))["symptom"]]


@dataclass(frozen=True)
class Fit:
    """A symptom that fits: its description nearest to the words, and their cosine."""

    symptom: Symptom
    cosine: float
    nearest: str

    @property
    def sure(self) -> str:
        """How sure it is, in words."""
        return "clear" if self.cosine >= SURE else "likely" if self.cosine >= LIKELY else "not sure"

    @property
    def specimens(self) -> list[Specimen]:
        """The public bugs that look like this; none without the museum."""
        return _specimens(self.symptom)


def _specimens(symptom: Symptom) -> list[Specimen]:
    museum = declared_module("view", "SpecimenRun")
    return [museum.SPECIMENS.named(name) for name in symptom.specimens] if museum else []


@dataclass(frozen=True)
class Triage(Shown):
    """The symptoms nearest to somebody's words, the best first. `known` is False if none is near."""

    words: str
    fits: tuple[Fit, ...]

    @property
    def known(self) -> bool:
        """Whether the best one is near enough to rely on."""
        return bool(self.fits) and self.fits[0].cosine >= LIKELY

    def as_json(self) -> dict[str, Any]:
        """The fits as plain data, the best first."""
        fits = [
            {
                "symptom": one.symptom.name,
                "sure": one.sure,
                "cosine": one.cosine,
                "nearest": one.nearest,
                "says": one.symptom.says,
                "checks": one.symptom.checks,
                "specimens": one.symptom.specimens,
                "lesson": f"notebooks/{one.symptom.lesson}.ipynb",
            }
            for one in self.fits
        ]
        return {"words": self.words, "known": self.known, "fits": fits}


def triage(words: str, embedder: Embedder | None = None) -> Triage:
    """The symptoms that fit these words. The descriptions are indexed once, in the user's cache folder.

    Raises InputError for words that are blank or too long, StorageError for a folder that cannot be written.
    """
    asked = check_question(words)
    folder = index_home() / "triage"
    embedder, file = embedder or LocalEmbedder(), folder / "index.sqlite"
    try:
        _write(folder / "symptoms")
        index_folder(folder / "symptoms", embedder, index_path=file)
    except StorageError as error:
        remedy = "Let yourself write there, or name another cache folder: export WORKBENCH_HOME=FOLDER"
        raise StorageError(error.problem, remedy) from None
    with open_index(folder / "symptoms", embedder, index_path=file) as index:
        return Triage(asked, tuple(_fits(asked, index)[:MOST]))


def _write(root: Path) -> None:
    """One file a description; a file is written only if its text is new, so that it is embedded once."""
    make_folder(root)
    wanted = {f"{name}.md": text for name, text in descriptions().items()}
    for name, text in wanted.items():
        file = root / name
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            with replaced(file) as out:
                out.write(text)
    for old in root.glob("*.md"):
        if old.name not in wanted:
            old.unlink()


def descriptions() -> dict[str, str]:
    """Every description by a name that begins with its symptom's place: phrases, and specimens' symptoms."""
    told = {}
    for place, one in enumerate(SYMPTOMS):
        for number, text in enumerate((*one.phrases, *(each.symptom for each in _specimens(one)))):
            told[f"{place:02}-{number}"] = text
    return told


def _fits(words: str, index: Index) -> list[Fit]:
    """The best description of each symptom decides."""
    found: dict[int, Fit] = {}
    for candidate in search(words, PIPELINE, index).results:
        place = int(candidate.chunk.path.partition("-")[0])
        fit = Fit(SYMPTOMS[place], _cosine(candidate), candidate.chunk.text.strip())
        found.setdefault(place, fit)
    return list(found.values())


def _cosine(candidate: Candidate) -> float:
    distance = candidate.numbers["vector_raw"]
    return 0.0 if np.isnan(distance) else 1 - distance


@rendered.register
def rendered_triage(found: Triage) -> RenderableType:
    """The best symptom with all that it leads to, and the names of the next ones."""
    best, *others = found.fits
    head = [] if found.known else ["No known symptom is near these words. The nearest is below."]
    lines = [*head, *_triage_lines(best), *map(_other, others)]
    return Group(*(plain(line, "bold" if line.startswith("symptom: ") else "") for line in lines))


def _triage_lines(fit: Fit) -> list[str]:
    symptom = fit.symptom
    return [
        f"symptom: {symptom.name} ({fit.sure}, cosine {fit.cosine:.2f} with “{fit.nearest}”)",
        f"  {symptom.says}",
        *(f"  run: {one}" for one in symptom.checks),
        *(
            f"  like it: workbench museum {one.name} ({', '.join(one.references[:2])})"
            for one in fit.specimens
        ),
        f"  lesson: workbench lab, notebooks/{symptom.lesson}.ipynb",
    ]


def _other(fit: Fit) -> str:
    return f"or: {fit.symptom.name} ({fit.sure}, cosine {fit.cosine:.2f})"
