"""Reads labelled questions, and controls that nothing in the memory answers, from a YAML file."""

from __future__ import annotations

import difflib
import os
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path, PureWindowsPath
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from workbench.errors import InputError, brief
from workbench.measure.question_errors import problem_of
from workbench.memory.files import read_input
from workbench.memory.safe_yaml import RefusedYamlError, load_yaml
from workbench.memory.yaml_mistakes import yaml_mistake
from workbench.retrieval.query import check_length

LARGEST_FILE = 2_000_000
"""Bytes; some 10,000 questions."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Control(_Strict):
    """A question that no file of the memory answers."""

    question: str = Field(min_length=1)

    @field_validator("question")
    @classmethod
    def _of_bounded_length(cls, question: str) -> str:
        try:
            check_length(question)
        except InputError as error:
            raise ValueError(error.problem) from None
        return question


class Question(Control):
    """A question, the one file that answers it, and its kind of wording."""

    target: str = Field(min_length=1)
    kind: str = "other"
    from_report: bool = False


class QuestionSet(_Strict):
    """The labelled questions of a memory, and its unanswerable questions (controls)."""

    questions: tuple[Question, ...]
    controls: tuple[Control, ...] = ()

    @field_validator("questions", mode="before")
    @classmethod
    def _some(cls, value: Any) -> Any:
        if isinstance(value, list | tuple) and value:
            return value
        why = f"not {brief(value)}"
        if value is None:
            why = "and nothing stands after `questions`"
        elif isinstance(value, list | tuple):
            why = "and this list is empty"
        raise InputError(f"A question set needs a list of questions, {why}.", FORM)

    @field_validator("controls", mode="before")
    @classmethod
    def _plain_strings_too(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise InputError(f"`controls` is a list of questions, not {brief(value)}.", FORM)
        return [{"question": one} if isinstance(one, str) else one for one in value]

    @property
    def targets(self) -> list[str]:
        """The files that answer a question, without duplicates, in the order of the questions."""
        return list(dict.fromkeys(question.target for question in self.questions))

    @property
    def kinds(self) -> list[str]:
        """The kinds of question, without duplicates, in the order of the questions."""
        return list(dict.fromkeys(question.kind for question in self.questions))


def check_questions(questions: object) -> None:
    """Raises InputError for anything in place of a question set, such as None or the name of a file."""
    if not isinstance(questions, QuestionSet):
        raise InputError(
            f"{brief(questions)} is not a question set.", "Read one with workbench.load_questions(path)."
        )


def labels_of(folder: str | os.PathLike[str]) -> QuestionSet | None:
    """The labelled questions in `questions.yaml` in a memory's own folder; None without such a file."""
    file = Path(folder) / "questions.yaml"
    return load_questions(file) if file.is_file() else None


def load_questions(path: str | os.PathLike[str]) -> QuestionSet:
    """The question set in a YAML file that has the form of `sample_memory/questions.yaml`.

    Raises InputError for a file that cannot be read or has more than 2 MB, for text that is not YAML, for
    aliases and deep nesting, for unknown keys and missing fields, for a question that is too long, and for
    one that would count twice.
    """
    if len(str(path).split()) > 1 and not Path(path).exists():
        raise InputError(
            f"There is no file of questions {path}.",
            f"Labelled questions are in a file. To ask one: workbench search {shlex.quote(str(path))}",
        )
    text = read_input(path, "The file of questions", LARGEST_FILE)
    try:
        data = load_yaml(text)
    except RefusedYamlError as error:
        raise InputError(
            f"The questions {path} cannot be used: line {error.line + 1}: {error.problem}.", FORM
        ) from None
    except yaml.YAMLError as error:
        problem, remedy = yaml_mistake(error, text)
        raise InputError(f"The question file {path} is not valid YAML: {problem}", remedy or FORM) from None
    if not isinstance(data, Mapping):
        raise InputError(f"The question file {path} has no `questions:` list.", FORM)
    try:
        asked = QuestionSet.model_validate(data)
        _check_once(asked)
    except InputError as error:
        raise InputError(f"The question file {path} cannot be used: {error.problem}", error.remedy) from None
    except ValidationError as error:
        problem = problem_of(error, text, KEYS)
        raise InputError(f"The question file {path} cannot be used: {problem}", FORM) from None
    return asked


def _check_once(asked: QuestionSet) -> None:
    """Raises InputError for a question that stands twice with one file, or with a file and as a control."""
    controls = [one.question for one in asked.controls]
    answered = {one.question for one in asked.questions}
    pairs = Counter((one.question, one.target) for one in asked.questions)
    twice = [question for (question, _), count in pairs.items() if count > 1]
    twice += [question for question, count in Counter(controls).items() if count > 1 or question in answered]
    if twice:
        raise InputError(f"the question “{twice[0]}” stands in it twice.", "Take one of the two out.")


KEYS: Mapping[str, Collection[str]] = {
    "": QuestionSet.model_fields,
    "questions": Question.model_fields,
    "controls": Control.model_fields,
}
FORM = (
    "The format is: questions: [{question: …, target: memory/file.md, kind: natural}], "
    "controls: [{question: …}]."
)


CORRECT = "Correct it, or index the folder that contains it."
GONE = "If the file is gone, take its questions out. Else correct the path, or index the folder that has it."
"""What to do about a question's target: an index cannot tell a file that is gone from a wrong path."""


def check_targets(questions: QuestionSet, paths: Iterable[str]) -> None:
    """Raises InputError, naming the first target that is not among the indexed `paths`."""
    check_indexed(questions.targets, paths, GONE)


def check_indexed(targets: Iterable[str], paths: Iterable[str], remedy: str = CORRECT) -> None:
    """Raises InputError, naming the first target that is not among the indexed `paths`, and one near it."""
    known = list(paths)
    for target in targets:
        if target not in known:
            near = nearest(target, known)
            hint = f" The nearest is {near}." if near else ""
            raise InputError(f"The target {target} is not in the index.", f"{remedy}{hint}")


ALIKE = 0.6
"""Two names are alike if so much of them is the same, as `difflib` counts it."""


def nearest(target: str, paths: Iterable[str]) -> str | None:
    """The path of the file whose name is most like the target's, or None if none is like it.

    Folders and endings say nothing about that, since many files share them. They decide between files of the
    same name.

    >>> nearest("home/dgo.md", ["home/dog.md", "work/dog.md"]), nearest("home/nope.md", ["home/dog.md"])
    ('home/dog.md', None)
    """
    named: dict[str, list[str]] = {}
    for path in paths:
        named.setdefault(_name(path), []).append(path)
    near = difflib.get_close_matches(_name(target), named, n=1, cutoff=ALIKE)
    return difflib.get_close_matches(target, named[near[0]], n=1, cutoff=0)[0] if near else None


def _name(path: str) -> str:
    """The name of a file without its folders and its ending, in small letters; also of a path of Windows."""
    return PureWindowsPath(path).stem.casefold()
