"""The parts of a case: its memory, system, questions, expectations and observations, checked by pydantic.

A case is one YAML file. `docs/cases.md` describes it, and `docs/case.schema.json` is its JSON Schema.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from workbench.memory.embedding.local import PACKAGED_MODEL
from workbench.retrieval.query import BLANKS, LONGEST_QUESTION, MOST_CHARACTERS
from workbench.safe_text import one_line

SUFFIX = ".case.yaml"
MOST_NOTES = 5_000
MOST_QUESTIONS = 1_000
MOST_DIMENSIONS = 8_192
MOST_LISTED = 10_000

VectorText = str | list[float]
"""A vector: base64 of little-endian numbers, or a list of decimal numbers."""


class CasePart(BaseModel):
    """Base of all parts of a case: an unknown key is an error, and a value does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _name(text: str) -> str:
    if one_line(text) != text:
        raise ValueError("it has a control character")
    return text


Name = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_name)]
Words = Annotated[str, Field(max_length=MOST_CHARACTERS)]


class CaseWindows(CasePart):
    """What the model has read of a passage word by word, for systems such as `recommended`; all in base64.

    `vectors` are float16 vectors of its windows. Each of its words has the `signs` of its vector, one bit for
    each dimension, and one float16 number, the mean size, in `sizes`. Each stretch of words has four bits for
    each dimension in `stretches`, and one float16 number in `stretch_sizes`.
    """

    vectors: str
    signs: str
    sizes: str
    stretches: str
    stretch_sizes: str


class CaseWords(CasePart):
    """The content words of a question, for systems that compare single words.

    `vectors` are the float32 vectors of its word pieces in base64. `pieces` names each word, and says how
    many of the pieces it has.
    """

    vectors: str
    pieces: list[tuple[str, Annotated[int, Field(ge=1, le=1_000)]]]


class CaseAnnotations(CasePart):
    """What OpenClaw has stored of a passage beside its text; source: its live store."""

    importance: int | None = Field(default=None, ge=1, le=10)
    triggers: str | None = None
    projects: str | None = None


class CasePassage(CasePart):
    """A chunk of a note as it was indexed: its lines, text and vector, and the share that the model read.

    Without lines and text, it is the next one of those into which the text of its note is cut.
    """

    lines: tuple[int, int] | None = None
    text: str | None = None
    vector: VectorText | None = None
    read: float = Field(default=1.0, ge=0, le=1)
    windows: CaseWindows | None = None
    annotations: CaseAnnotations | None = None

    @model_validator(mode="after")
    def _in_order(self) -> CasePassage:
        if (self.lines is None) != (self.text is None):
            raise ValueError("a passage has both lines and text, or none of them")
        if self.lines and not 0 <= self.lines[0] <= self.lines[1]:
            raise ValueError(f"lines go from {self.lines[0]} to {self.lines[1]}")
        return self


class CaseNote(CasePart):
    """A note: its text, which the memory's chunker cuts, or the passages into which it was cut.

    Beside a text, `passages` has what travels with each passage into which it is cut, in their order.
    """

    path: Name
    source: Literal["memory", "sessions"] = "memory"
    text: str | None = None
    passages: list[CasePassage] | None = None

    @model_validator(mode="before")
    @classmethod
    def _lists_of_older_files(cls, value: Any) -> Any:
        """The passages of a file that has a list each for their vectors, shares and windows."""
        if not isinstance(value, dict) or "passages" in value:
            return value
        named = {"vectors": "vector", "reads": "read", "windows": "windows"}
        lists = {new: value[old] for old, new in named.items() if isinstance(value.get(old), list)}
        if not lists:
            return value
        rows = [
            {name: one for name, one in zip(lists, row, strict=True) if one is not None}
            for row in zip_longest(*lists.values())
        ]
        kept = {key: one for key, one in value.items() if named.get(key) not in lists}
        return {**kept, "passages": rows}

    @model_validator(mode="after")
    def _one_form(self) -> CaseNote:
        with_text = [one.text is not None for one in self.passages or ()]
        in_passages = self.passages is not None and all(with_text)
        if not in_passages if self.text is None else any(with_text):
            raise ValueError(f"the note {self.path} needs either its text or passages with texts")
        return self

    @property
    def whole(self) -> str:
        """The text of the note; passages are joined, without the lines in which they overlap."""
        if self.text is not None:
            return self.text
        joined: list[str] = []
        seen = 0
        for one in self.passages or ():
            (first, last), lines = one.lines or (0, 0), (one.text or "").split("\n")
            overlap = seen - first + 1 if len(lines) == last - first + 1 else 0
            joined += lines[max(0, overlap) :]
            seen = max(seen, last)
        return "\n".join(joined)


class CaseChunker(CasePart):
    """How texts are cut into passages: OpenClaw 2026.2.13's line chunker, or that of a later release."""

    tokens: int = Field(default=400, ge=1, le=100_000)
    overlap: int = Field(default=80, ge=0)
    release: str = ""


class CaseLists(CasePart):
    """What two legs returned: the scores of documents by their ids; larger is better."""

    vector: dict[Name, float] = Field(default={}, max_length=MOST_LISTED)
    keyword: dict[Name, float] = Field(default={}, max_length=MOST_LISTED)

    @model_validator(mode="after")
    def _not_empty(self) -> CaseLists:
        if not self.vector and not self.keyword:
            raise ValueError("both lists are empty")
        return self


class CaseMemory(CasePart):
    """The notes, inline or in a folder beside the case, and how they are cut.

    `ties` says how hits with equal numbers are ordered: by their chunk ids, or as they were stored. In place
    of notes, `lists` has what the two legs of another engine returned: such a case is about a fusion.
    `annotations` says whether those of passages are read from the texts, or stored with the passages.
    """

    notes: list[CaseNote] | None = Field(default=None, min_length=1, max_length=MOST_NOTES)
    folder: Name | None = None
    lists: CaseLists | None = None
    chunker: CaseChunker = CaseChunker()
    ties: Literal["chunk id", "stored order"] = "chunk id"
    annotations: Literal["read", "stored"] = "read"

    @model_validator(mode="after")
    def _one_form(self) -> CaseMemory:
        if sum(one is not None for one in (self.notes, self.folder, self.lists)) != 1:
            raise ValueError("the memory needs one of these: notes, a folder, or lists")
        for path, count in Counter(one.path for one in self.notes or ()).most_common(1):
            if count > 1:
                raise ValueError(f"two notes have the path {path}")
        return self


class CaseModel(CasePart):
    """The model of the vectors, and in which numbers the vectors are written if they travel in the case.

    `axes` describes the toy model: a text's vector counts the words of each topic. `vectors` is `cosines` if
    the vectors are not the model's own, but have the same cosines with the questions.
    """

    name: str = Field(default=PACKAGED_MODEL, min_length=1, max_length=200)
    revision: str = Field(default="", max_length=200)
    dimensions: int = Field(default=384, ge=1, le=MOST_DIMENSIONS)
    vectors: Literal["none", "float16", "float32", "cosines"] = "none"
    axes: dict[str, list[str]] | None = None


class CaseConfiguration(CasePart):
    """An openclaw.json: its content, or a file beside the case; the release that reads it, and the agent."""

    file: Name | None = None
    content: dict[str, Any] | None = None
    release: str = ""
    agent: str = ""

    @model_validator(mode="after")
    def _one_form(self) -> CaseConfiguration:
        if (self.file is None) == (self.content is None):
            raise ValueError("the configuration needs either a file or content")
        return self


class CaseSystem(CasePart):
    """A system: its name with changes and settings, a configuration of OpenClaw, or a side of a specimen.

    `changes` are named changes such as `or`; `settings` are `slot.parameter=value` or OpenClaw's keys. A
    `specimen` of the museum has two systems that differ in one stage: the `shipped` and the `fixed` side.
    """

    name: str = Field(default="", max_length=200)
    changes: list[str] = []
    settings: list[str] = []
    limit: int | None = Field(default=None, ge=1, le=10_000)
    min_score: float | None = None
    openclaw: CaseConfiguration | None = None
    specimen: str = Field(default="", max_length=200)
    side: Literal["", "shipped", "fixed"] = ""

    @model_validator(mode="before")
    @classmethod
    def _plain_name_too(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_serializer(mode="wrap")
    def _plain_name_alone(self, dump: SerializerFunctionWrapHandler) -> Any:
        given = dump(self)
        return given["name"] if set(given) == {"name"} else given

    @model_validator(mode="after")
    def _named(self) -> CaseSystem:
        if sum(map(bool, (self.name, self.openclaw, self.specimen))) != 1:
            raise ValueError("a system needs one of these: a name, an openclaw configuration, or a specimen")
        if bool(self.specimen) != bool(self.side):
            raise ValueError("a specimen has a side: shipped or fixed")
        return self

    @property
    def called(self) -> str:
        """What the system is called in a sentence."""
        named = f"{self.specimen}-{self.side}" if self.specimen else self.name
        return named or "another configuration"


class Expected(CasePart):
    """What the answer should be: exactly one of these, by the paths of files.

    `within` bounds the place of the file that should be found; with `same_as` it bounds how many of the
    first files are compared, and with `scores` their scores are compared, too.
    """

    found: Name | None = None
    not_found: Name | None = None
    order: list[Name] | None = Field(default=None, min_length=2)
    nothing: Literal[True] | None = None
    same_as: CaseSystem | None = None
    scores: Literal[True] | None = None
    within: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _one_form(self) -> Expected:
        forms = [one for one in FORMS if getattr(self, one) is not None]
        if len(forms) != 1:
            raise ValueError(f"expect exactly one of {', '.join(FORMS)}, not {len(forms)} of them")
        if self.within is not None and forms[0] not in ("found", "same_as"):
            raise ValueError("within goes with found or same_as")
        if self.scores and forms[0] != "same_as":
            raise ValueError("scores goes with same_as")
        return self

    @property
    def targets(self) -> list[str]:
        """The files that the expectation names."""
        return [one for one in (self.found, self.not_found, *(self.order or ())) if one]


FORMS = ("found", "not_found", "order", "nothing", "same_as")


class Observed(CasePart):
    """What a run gave: the fate of the file that decides, the stage, and the returned files in order."""

    fate: str = ""
    stage: str = ""
    returned: list[str] | None = None


class CaseQuestion(CasePart):
    """A question, its vector if vectors travel, what is expected, and what was observed.

    `words` are its content words with their vectors, for systems that compare single words.
    `known_bug` is the reason why this expectation does not hold yet; that of the case is for all questions.
    """

    question: Words
    vector: VectorText | None = None
    words: CaseWords | None = None
    expect: Expected
    observed: Observed | None = None
    known_bug: str = ""

    @field_validator("question")
    @classmethod
    def _of_bounded_length(cls, question: str) -> str:
        if not question.strip(BLANKS):
            raise ValueError("the question is blank")
        if len(question.split()) > LONGEST_QUESTION:
            raise ValueError(f"the question has more than {LONGEST_QUESTION:,} words")
        return question


class Elsewhere(CasePart):
    """Another system, and whether the expectations hold there: such as the release that mended the bug."""

    system: CaseSystem
    holds: bool = True


class CaseEnvironment(CasePart):
    """The versions with which the observations were made."""

    workbench: str = ""
    python: str = ""
    sqlite: str = ""
    numpy: str = ""


class Case(CasePart):
    """A failure of memory search that can be run.

    `known_bug` is the reason why the expectations do not hold yet; a test then expects the failure.
    """

    case: Literal[1] = 1
    title: str = Field(default="", max_length=500)
    references: list[str] = []
    note: str = ""
    known_bug: str = ""
    system: CaseSystem
    elsewhere: list[Elsewhere] = []
    questions: list[CaseQuestion] = Field(min_length=1, max_length=MOST_QUESTIONS)
    model: CaseModel = CaseModel()
    memory: CaseMemory
    environment: CaseEnvironment | None = None

    @model_validator(mode="after")
    def _vectors_as_stated(self) -> Case:
        inside = [one.vector for note in self.memory.notes or () for one in note.passages or ()]
        inside += [one.vector for one in self.questions]
        if any(one is not None for one in inside) and self.model.vectors == "none":
            raise ValueError("there are vectors inside, but model.vectors does not say in which numbers")
        return self

    @property
    def words(self) -> int:
        """How many words the notes have."""
        return sum(len(one.whole.split()) for one in self.memory.notes or ())


def schema() -> Mapping[str, Any]:
    """The JSON Schema of a case file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "A case of the hybrid-search workbench; see docs/cases.md.",
        **Case.model_json_schema(),
    }
