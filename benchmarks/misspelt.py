"""What a misspelt word costs `recommended`, and what its correction gives back.

    python -m benchmarks.misspelt [--dictionary FILE] [FOLDER QUESTIONS.yaml]

One word of content of each question gets a slip: a letter is left out, doubled, exchanged with its neighbour,
or another one. With the dictionary of codespell, whose lines are `wrong->right`, the misspelt forms are those
that people wrote. Questions without such a word are left out.
"""

from __future__ import annotations

import argparse
import random
import re
import string
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import workbench as wb
from benchmarks.free_floor import SETS
from workbench.measure.evaluation import evaluate
from workbench.measure.paired import paired
from workbench.measure.questions import Question, QuestionSet, load_questions
from workbench.safe_text import counted
from workbench.stop_words import STOP_WORDS

WORD = re.compile(r"[^\W\d_]{5,}")
DRAWS = 3
"""Each question is misspelt so many times."""
Misspell = Callable[[str, random.Random], str]


def with_a_slip(word: str, chance: random.Random) -> str:
    """The word with one slip, never in its first letter; the word itself if two equal letters exchange."""
    at = chance.randrange(1, len(word))
    before, letter, after = word[:at], word[at], word[at + 1 :]
    missing = before + after
    doubled = before + letter + letter + after
    exchanged = before[:-1] + letter + before[-1] + after if at > 1 else missing
    another = before + chance.choice(string.ascii_lowercase) + after
    return chance.choice((missing, doubled, exchanged, another))


def as_people_wrote(file: Path) -> Misspell:
    """A function that replaces a word by a form of the dictionary; the word itself without one."""
    forms = defaultdict(list)
    for line in file.read_text(encoding="utf-8").splitlines():
        wrong, _, right = line.partition("->")
        for one in right.split(","):
            forms[one.strip()].append(wrong)

    def misspell(word: str, chance: random.Random) -> str:
        return chance.choice(forms.get(word.lower()) or [word])

    return misspell


def misspelt(questions: QuestionSet, misspell: Misspell) -> Iterator[Question]:
    """The questions that get another word, each as often as it is drawn with another result."""
    for one in questions.questions:
        content = [word for word in WORD.finditer(one.question) if word[0].lower() not in STOP_WORDS]
        found = set()
        for draw in range(DRAWS if content else 0):
            chance = random.Random(f"{one.question} {draw}")
            changes = [(word, misspell(word[0], chance)) for word in content]
            able = [(word, other) for word, other in changes if other.lower() != word[0].lower()]
            if able:
                word, other = chance.choice(able)
                found.add(one.question[: word.start()] + other + one.question[word.end() :])
        for text in sorted(found):
            yield one.model_copy(update={"question": text})


def main() -> None:
    """Prints for each set of questions what a slip costs, and what the correction gives back."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dictionary", type=Path)
    parser.add_argument("memory", nargs="*")
    given = parser.parse_args()
    misspell = as_people_wrote(given.dictionary) if given.dictionary else with_a_slip
    sets: Mapping[str, tuple[Path, Path]] = SETS
    if given.memory:
        folder, file = map(Path, given.memory)
        sets = {folder.name: (folder, file)}
    for name, (memory, file) in sets.items():
        with wb.open_index(memory) as index:
            measure(name, load_questions(file), misspell, index)


def measure(name: str, labels: QuestionSet, misspell: Misspell, index: wb.MemoryIndex) -> None:
    """Prints the lines of one set of questions."""
    with_slips = [*misspelt(labels, misspell)]
    if not with_slips:
        print(f"{name}: no question has a word that can be misspelt")
        return
    corrects = wb.system("recommended")
    plain = corrects.with_stage(replace(corrects["query"], corrects=False))  # type: ignore[call-arg]
    before, after = evaluate(QuestionSet(questions=tuple(with_slips)), [plain, corrects], index)
    corrected = sum(one.trace.read_as != "" for one in after.asked)
    print(f"{name}: {counted(len(with_slips), 'misspelt question')}, {corrected} corrected")
    for what, one in (("as they are", before), ("corrected", after)):
        print(f"  {what}: hits {one.overall}, MRR {one.mrr:.3f}")
    print(f"  hits: {paired(before, after)}")
    print(f"  MRR: {paired(before, after, 'RR')}")
    (right,) = evaluate(labels, [corrects], index)
    wrongly = [one.trace for one in right.asked if one.trace.read_as] + [
        one for one in right.controls if one.read_as
    ]
    every = len(labels.questions) + len(labels.controls)
    print(f"  of {counted(every, 'question')} without a slip, {len(wrongly)} are read otherwise")
    for one in wrongly:
        print(f"    {' '.join(one.notes)}")


if __name__ == "__main__":
    main()
