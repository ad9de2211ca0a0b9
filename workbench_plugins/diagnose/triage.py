"""Finds the symptoms that fit somebody's words, with our own search over the descriptions of the symptoms."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.contracts import Index
from workbench.errors import StorageError
from workbench.memory.choices import index_home
from workbench.memory.data_files import load_data
from workbench.memory.embedding.local import Embedder, LocalEmbedder
from workbench.memory.files import replaced
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.store.sqlite.location import make_folder
from workbench.memory.sync import index_folder
from workbench.records import Candidate, Shown
from workbench.registry import has_feature
from workbench.retrieval.cutoff import Limit, Order
from workbench.retrieval.fusion import WeightedSum
from workbench.retrieval.legs import FixedDepth, KeywordLeg, Union, VectorLeg
from workbench.retrieval.pipeline import Pipeline, Source, search
from workbench.retrieval.query import JoinedWords, check_question
from workbench.retrieval.scoring import Cosine, MinMaxRank
from workbench.tables import Line, Part

if TYPE_CHECKING:
    from workbench_plugins.engines.museum import Specimen

SURE = 0.65
LIKELY = 0.5
"""Scores of a symptom. Below LIKELY, the words are about something else."""
SIGN = 0.25
"""What words that are a sign of a symptom are worth, as a cosine."""
RIGHT = {"clear": "35 of 38", "likely": "6 of 10"}
"""How often the first symptom was right in labelled public reports of 44 projects, each judged by a score
that was chosen on the others: `python -m benchmarks.triage --rates`. *Clear* needs nine of ten."""
MARGIN = 0.05
"""How much nearer than to a trouble of another kind. `python -m benchmarks.triage --choose` chose both."""

MOST = 3
MOST_SENTENCES = 10
"""Sentences of a report, beside its title, that are compared."""
SENTENCES = re.compile(r"(?<=[.!?。！？])\s+|\n+")
NO_SENTENCE = re.compile(
    r"```(?s:.*?)(?:```|\Z)|^[^\S\n]*[-*] \[.\].*$|<!--(?s:.*?)(?:-->|\Z)|^#+.*$|[`*>|]", re.MULTILINE
)
"""Code, boxes and headings of a report: not what somebody tells."""
DEPTH = FixedDepth(cap=1_000)
PIPELINE = Pipeline(
    "triage",
    (
        JoinedWords("OR"), KeywordLeg(depth=DEPTH), VectorLeg(depth=DEPTH), Union(), MinMaxRank(), Cosine(),
        WeightedSum(0.95, 0.05), Order(), Limit(1_000),
    ),
    Source("hybrid-search-workbench", "0.1.0", "workbench_plugins/diagnose/triage.py"),
)  # fmt: skip


@dataclass(frozen=True)
class Symptom:
    """A symptom: its name, how people tell it, what to run, specimens of the museum, and a lesson.

    `signs` is a regular expression for words that belong to it.
    """

    name: str
    description: str
    signs: str
    phrases: list[str]
    checks: list[str]
    specimens: list[str]
    lesson: str


_TOLD = load_data(__file__, "symptoms.toml")
SYMPTOMS = [Symptom(**one) for one in _TOLD["symptom"]]
OTHER = Symptom(**_TOLD["other"][0])
"""What is no symptom: texts about installing, crashing, messages and the like."""


@dataclass(frozen=True)
class Fit:
    """A symptom that fits: its description nearest to the words, their cosine, and a sign of it in them."""

    symptom: Symptom
    cosine: float
    nearest: str
    sign: str = ""

    @property
    def score(self) -> float:
        """The cosine, and more for a sign."""
        return self.cosine + SIGN * bool(self.sign)

    @property
    def sure(self) -> str:
        """How sure it is, in words."""
        return "clear" if self.score >= SURE else "likely" if self.score >= LIKELY else "not sure"

    @property
    def specimens(self) -> list[Specimen]:
        """The public bugs that look like this; none without the museum."""
        return _specimens(self.symptom)


def _specimens(symptom: Symptom) -> list[Specimen]:
    if not has_feature("engines"):
        return []
    from workbench_plugins.engines.museum import SPECIMENS

    return [SPECIMENS.named(name) for name in symptom.specimens]


@dataclass(frozen=True)
class Triage(Shown):
    """The symptoms nearest to somebody's words, the best first. `known` is False if none is near.

    `other` is how near the words are to a trouble of another kind.
    """

    words: str
    fits: tuple[Fit, ...]
    other: float = 0.0

    @property
    def known(self) -> bool:
        """Whether the best one is near enough to rely on, and nearer than troubles of other kinds."""
        best = self.fits[0].score if self.fits else 0.0
        return best >= LIKELY and best >= self.other + MARGIN

    def as_json(self) -> dict[str, Any]:
        """The fits as plain data, the best first."""
        fits = [
            {
                "symptom": one.symptom.name,
                "sure": one.sure,
                "right_in": RIGHT.get(one.sure, ""),
                "cosine": one.cosine,
                "sign": one.sign,
                "nearest": one.nearest,
                "says": one.symptom.description,
                "checks": one.symptom.checks,
                "specimens": one.symptom.specimens,
                "lesson": f"notebooks/{one.symptom.lesson}.ipynb",
            }
            for one in self.fits
        ]
        return {"words": self.words, "known": self.known, "other": self.other, "fits": fits}

    def view(self) -> list[Part]:
        """The best symptom with all that it leads to, and the names of the next ones."""
        best, *others = self.fits
        if not self.known:
            return ["Nothing here fits; these two are nearest.", *map(_other, self.fits[:2])]
        symptom, *lines = _triage_lines(best)
        return [Line(symptom, "bold"), *lines, *map(_other, others)]


def triage(words: str, embedder: Embedder | None = None) -> Triage:
    """The symptoms that fit these words, such as a sentence, or a report whose first line is its title.

    The descriptions are indexed once, in the user's cache folder.

    Raises InputError for words that are blank or too long, StorageError for a folder that cannot be written.
    """
    asked = check_question(words)
    folder = index_home() / "triage"
    embedder, file = embedder or LocalEmbedder(), folder / "index.sqlite"
    try:
        _write(folder / "symptoms")
        index_folder(folder / "symptoms", embedder, options=Options(index_path=file))
    except StorageError as error:
        remedy = "Let yourself write there, or name another cache folder: export WORKBENCH_HOME=FOLDER"
        raise StorageError(error.problem, remedy) from None
    with open_index(folder / "symptoms", embedder, index_path=file) as index:
        return _triage(asked, index)


def pieces(words: str) -> list[str]:
    """The title of a report and its first sentences, without code; a single sentence as it is."""
    title, _, body = words.strip().partition("\n")
    sentences = [one.strip() for one in SENTENCES.split(NO_SENTENCE.sub(" ", body))]
    return [title.lstrip("# "), *[one for one in sentences if len(one.split()) > 3][:MOST_SENTENCES]]


def _triage(words: str, index: Index) -> Triage:
    """The title counts as much as the two best sentences of the text together."""
    title, *body = [_fits(one, index) for one in pieces(words)]
    found: dict[int, list[Fit]] = {}
    for fits_of_sentence in body:
        for number, fit in fits_of_sentence.items():
            found.setdefault(number, []).append(fit)
    best = dict(title)
    for number, fits in found.items():
        first, *more = sorted(fits, key=lambda one: -one.score)
        mean = replace(first, cosine=(first.cosine + sum(one.cosine for one in more[:1])) / 2)
        best[number] = max(best.get(number, mean), mean, key=lambda one: one.score)
    other = best.pop(len(SYMPTOMS), None)
    ordered = sorted(best.values(), key=lambda one: -one.score)
    return Triage(words, tuple(ordered[:MOST]), other.score if other else 0.0)


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
    """Every description by a name that begins with its symptom's number: phrases, and specimens' symptoms."""
    texts = {}
    for nth, one in enumerate([*SYMPTOMS, OTHER]):
        for number, text in enumerate((*one.phrases, *(each.symptom for each in _specimens(one)))):
            texts[f"{nth:02}-{number}"] = text
    return texts


def _fits(words: str, index: Index) -> dict[int, Fit]:
    """The best description of each symptom decides; by the place of the symptom."""
    found: dict[int, Fit] = {}
    for candidate in search(words, PIPELINE, index).results:
        number = int(candidate.chunk.path.partition("-")[0])
        symptom = [*SYMPTOMS, OTHER][number]
        sign = re.search(symptom.signs, words, re.IGNORECASE)
        fit = Fit(symptom, _cosine(candidate), candidate.chunk.text.strip(), sign[0] if sign else "")
        found.setdefault(number, fit)
    return found


def _cosine(candidate: Candidate) -> float:
    distance = candidate.numbers["vector_raw"]
    return 0.0 if np.isnan(distance) else 1 - distance


def _triage_lines(fit: Fit) -> list[str]:
    symptom = fit.symptom
    return [
        f"symptom: {symptom.name} ({_why(fit)} with “{fit.nearest}”)",
        f"  {symptom.description}",
        *(f"  run: {one}" for one in symptom.checks),
        *(
            f"  like it: workbench museum {one.name} ({', '.join(one.references[:2])})"
            for one in fit.specimens
        ),
        f"  lesson: workbench lab, notebooks/{symptom.lesson}.ipynb",
    ]


def _other(fit: Fit) -> str:
    return f"or: {fit.symptom.name} ({_why(fit)})"


def _why(fit: Fit) -> str:
    sign = f", “{fit.sign}”" if fit.sign else ""
    rate = f", right in {RIGHT[fit.sure]} public reports" if fit.sure in RIGHT else ""
    return f"{fit.sure}{sign}, cosine {fit.cosine:.2f}{rate}"
