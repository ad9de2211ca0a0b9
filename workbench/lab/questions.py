"""Questions with known answers, and controls whose right answer is nothing, read from a YAML file."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from workbench.errors import InputError


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Control(_Strict):
    """A question that nothing in the memory answers."""

    question: str = Field(min_length=1)


class Question(Control):
    """A question, the one file that answers it, and the kind of wording it has."""

    target: str = Field(min_length=1)
    kind: str = "other"
    from_report: bool = False


class QuestionSet(_Strict):
    """The labelled questions of a memory, and its controls."""

    questions: tuple[Question, ...] = Field(min_length=1)
    controls: tuple[Control, ...] = ()

    @field_validator("controls", mode="before")
    @classmethod
    def _plain_strings_too(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [{"question": one} if isinstance(one, str) else one for one in value]

    @property
    def targets(self) -> list[str]:
        """The files that answer a question, each once, in the order of the questions."""
        return list(dict.fromkeys(question.target for question in self.questions))

    @property
    def kinds(self) -> list[str]:
        """The kinds of question, each once, in the order of the questions."""
        return list(dict.fromkeys(question.kind for question in self.questions))


def load_questions(path: str | os.PathLike[str]) -> QuestionSet:
    """The question set in a YAML file of the form of `sample_memory/questions.yaml`.

    Raises InputError for a missing file, text that is no YAML, unknown keys, and missing fields.
    """
    try:
        data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"The questions {path} cannot be read: {error.strerror}.", "Check the path."
        ) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"The questions {path} are not YAML: {reason}", FORM) from None
    if not isinstance(data, Mapping):
        raise InputError(f"The questions {path} have no `questions:` list.", FORM)
    try:
        return QuestionSet.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"The questions {path} are not usable: {place}: {first['msg']}.", FORM) from None


FORM = (
    "The form is: questions: [{question: …, target: memory/file.md, kind: natural}], "
    "controls: [{question: …}]."
)


def check_targets(questions: QuestionSet, paths: Iterable[str]) -> None:
    """Nothing when every target is among the indexed `paths`; InputError names the first that is not."""
    known = list(paths)
    for target in questions.targets:
        if target not in known:
            near = nearest(target, known)
            hint = f" The nearest is {near}." if near else ""
            raise InputError(
                f"The target {target} is not in the index.",
                f"Correct it, or index the folder that has it.{hint}",
            )


def nearest(target: str, paths: Iterable[str]) -> str | None:
    """The path that is most like `target`, or None where none is."""
    return next(iter(difflib.get_close_matches(target, list(paths), n=1, cutoff=0.3)), None)
