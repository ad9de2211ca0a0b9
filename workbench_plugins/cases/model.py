"""A case: its parts, checked by pydantic, and its file.

A case is one YAML file. `docs/reports.md` describes it, and `docs/case.schema.json` is its JSON Schema. Files
are read with a line and a field for each error, and written in the same way every time.

A case file may come from anybody. Nothing outside its own folder is read, no link is followed, and its size,
depth and number of values are bounded before it is built. It is YAML without tags, aliases and guessed types:
a person writes cases by hand, so `question: 12:30` is text here, although YAML 1.1 reads a number.
"""

from __future__ import annotations

import os
import platform
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)
from yaml.emitter import ScalarAnalysis

from workbench.errors import InputError, brief
from workbench.masking import MASK, is_secret_name, masked, secret_spans
from workbench.memory import files
from workbench.memory.embedding.local import PACKAGED_MODEL
from workbench.memory.safe_yaml import LOADER, RefusedYamlError, check_yaml
from workbench.memory.store.sqlite.database import libraries
from workbench.retrieval.query import BLANKS, LONGEST_QUESTION, MOST_CHARACTERS
from workbench.safe_text import BIDIRECTIONAL, C1, SEPARATORS, counted, one_line
from workbench_plugins.cases import SUFFIX, is_case

MOST_NOTES = 5_000
MOST_QUESTIONS = 1_000
MOST_DIMENSIONS = 8_192
MOST_LISTED = 10_000
LARGEST_SCORE = 3.4e38
"""About the largest number of 32 bits, as engines keep scores. Sums and differences are numbers, too."""
MOST_SYSTEMS = 50
MOST_CHANGES = 100
"""Changes, and settings, of one system."""
MOST_AXES, MOST_AXIS_WORDS = 64, 500
"""Axes of the toy model, and words of all of them together: each word of a text is compared with each."""

VectorText = str | list[float]
"""A vector: base64 of little-endian numbers, or a list of decimal numbers."""


class CasePart(BaseModel):
    """Base of all parts of a case: an unknown key is an error, and a value does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def with_changes(self, **values: Any) -> Self:
        """The part with other values, which are not checked again."""
        return self.model_copy(update=values)


def _name(text: str) -> str:
    if one_line(text) != text:
        raise ValueError("it has a control character")
    return text


Name = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_name)]
_NAME = TypeAdapter[str](Name)
Words = Annotated[str, Field(max_length=MOST_CHARACTERS)]
Score = Annotated[float, Field(ge=-LARGEST_SCORE, le=LARGEST_SCORE)]
Line = Annotated[int, Field(ge=0, lt=2**31)]


def file_in_case(path: str) -> str:
    """The path, if a case can have a file of it. Raises InputError for a long one, or a control character."""
    try:
        return _NAME.validate_python(path)
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise InputError(f"A case cannot have the file {brief(path)}: {problem}.", "Rename it.") from None


class CaseWindows(CasePart):
    """What the model has read of a passage word by word, for systems such as `recommended`; all in base64.

    Each of its words has the `signs` of its vector, one bit for each dimension, and one float16 number, the
    mean size, in `sizes`. Each stretch of words has as many signs in `stretches`, and one float16 number in
    `stretch_sizes`. Cases that were written before have more bits in `stretches`, and `vectors`, which are
    not read.
    """

    vectors: str = ""
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

    lines: tuple[Line, Line] | None = None
    text: str | None = None
    vector: VectorText | None = None
    read: float = Field(default=1.0, ge=0, le=1)
    windows: CaseWindows | None = None
    annotations: CaseAnnotations | None = None

    @model_validator(mode="after")
    def _in_order(self) -> CasePassage:
        if (self.lines is None) != (self.text is None):
            raise ValueError("a passage has both lines and text, or none of them")
        if self.lines and self.lines[0] > self.lines[1]:
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

    @model_validator(mode="after")
    def _advances(self) -> CaseChunker:
        if self.overlap >= self.tokens:
            raise ValueError(f"the overlap {self.overlap} is not less than the {self.tokens} tokens")
        return self


class CaseLists(CasePart):
    """What two legs returned: the scores of documents by their ids; larger is better."""

    vector: dict[Name, Score] = Field(default={}, max_length=MOST_LISTED)
    keyword: dict[Name, Score] = Field(default={}, max_length=MOST_LISTED)

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
    axes: dict[str, list[str]] | None = Field(default=None, max_length=MOST_AXES)

    @model_validator(mode="before")
    @classmethod
    def _dimensions_of_axes(cls, value: Any) -> Any:
        """The toy model has a dimension for each axis; a case need not count them."""
        axes = value.get("axes") if isinstance(value, dict) else None
        if isinstance(axes, dict) and axes and "dimensions" not in value:
            return {**value, "dimensions": len(axes)}
        return value

    @field_validator("axes")
    @classmethod
    def _few_words(cls, axes: dict[str, list[str]] | None) -> dict[str, list[str]] | None:
        if sum(map(len, (axes or {}).values())) > MOST_AXIS_WORDS:
            raise ValueError(f"the axes have more than {MOST_AXIS_WORDS} words")
        return axes


def without_secrets(value: Any, secret: bool = False, mask: Callable[[str], str] = masked) -> Any:
    """Plain data with an ellipsis in place of each secret, and of all below the name of one."""
    if isinstance(value, dict):
        return {key: without_secrets(one, secret or is_secret_name(key), mask) for key, one in value.items()}
    if isinstance(value, list):
        return [without_secrets(one, secret, mask) for one in value]
    if isinstance(value, str):
        return MASK if secret else mask(value)
    return MASK if secret and value is not None and not isinstance(value, bool) else value


class CaseConfiguration(CasePart):
    """An openclaw.json: its content, or a file beside the case; the release that reads it, and the agent.

    No secret of the content is kept, so none can be written or printed with the case.
    """

    file: Name | None = None
    content: Annotated[dict[str, Any], AfterValidator(without_secrets)] | None = None
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
    changes: list[Name] = Field(default=[], max_length=MOST_CHANGES)
    settings: list[Name] = Field(default=[], max_length=MOST_CHANGES)
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
    order: list[Name] | None = Field(default=None, min_length=2, max_length=MOST_LISTED)
    nothing: Literal[True] | None = None
    same_as: CaseSystem | None = None
    scores: Literal[True] | None = None
    within: int | None = Field(default=None, ge=1, le=MOST_LISTED)

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


def environment() -> CaseEnvironment:
    """The versions here."""
    return CaseEnvironment(
        workbench=version("hybrid-search-workbench"),
        python=platform.python_version(),
        sqlite=str(libraries()["sqlite"]),
        numpy=np.__version__,
    )


def _no_truth(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("Input should be 1")  # YAML's true equals 1 in Python
    return value


class Case(CasePart):
    """A failure of memory search that can be run.

    `known_bug` is the reason why the expectations do not hold yet; a test then expects the failure.
    `compared` is there in a redacted or shrunk case: the systems whose verdicts are those of the original.
    """

    case: Annotated[Literal[1], BeforeValidator(_no_truth)] = 1
    title: str = Field(default="", max_length=500)
    references: list[Annotated[str, Field(max_length=500)]] = Field(default=[], max_length=MOST_CHANGES)
    note: str = ""
    known_bug: str = ""
    compared: list[Name] | None = Field(default=None, max_length=MOST_SYSTEMS)
    system: CaseSystem
    elsewhere: list[Elsewhere] = Field(default=[], max_length=MOST_SYSTEMS)
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
        "$comment": "A case of the hybrid-search workbench; see docs/reports.md.",
        **Case.model_json_schema(),
    }


MOST_VALUES = 300_000
NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "~": None, "": None}
TAGS = ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge", "value")

KeyPath = tuple[str | int, ...]
"""Where a value is: the keys and the positions that lead to it."""


class YamlTree(NamedTuple):
    """The values of a YAML text, and the line of each, from 1."""

    values: Any
    lines: dict[KeyPath, int]

    def line_of(self, key_path: Sequence[str | int]) -> int:
        """The line of a value, or of the nearest value around it."""
        known = tuple(key_path)
        while known and known not in self.lines:
            known = known[:-1]
        return self.lines.get(known, 1)


def read_tree(text: str) -> YamlTree:
    """The values of a YAML text.

    Raises RefusedYamlError, with the line, for aliases, tags, duplicate keys, deep nesting and more than
    300,000 values; yaml.YAMLError for text that is not YAML.
    """
    check_yaml(text, MOST_VALUES)
    root = yaml.compose(text, LOADER)
    lines: dict[KeyPath, int] = {}
    return YamlTree(None if root is None else _value(root, (), lines), lines)


def _value(node: yaml.Node, key_path: KeyPath, lines: dict[KeyPath, int]) -> Any:
    line = node.start_mark.line
    lines[key_path] = line + 1
    if node.tag.removeprefix("tag:yaml.org,2002:") not in TAGS:
        raise RefusedYamlError(line, f"the tag {node.tag} is not allowed")
    if isinstance(node, yaml.MappingNode):
        return dict(_pairs(node, key_path, lines))
    if isinstance(node, yaml.SequenceNode):
        return [_value(one, (*key_path, number), lines) for number, one in enumerate(node.value)]
    return _scalar(str(node.value), plain=not getattr(node, "style", None))


def _pairs(node: yaml.MappingNode, key_path: KeyPath, lines: dict[KeyPath, int]) -> Iterator[tuple[str, Any]]:
    seen: set[str] = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise RefusedYamlError(key.start_mark.line, "a key is not a word")
        if key.value in seen:
            raise RefusedYamlError(key.start_mark.line, f"the key {key.value!r} is there twice")
        seen.add(key.value)
        yield key.value, _value(value, (*key_path, key.value), lines)


def _scalar(text: str, plain: bool) -> Any:
    if not plain:
        return text
    if text in WORDS:
        return WORDS[text]
    if NUMBER.fullmatch(text):
        return float(text) if re.search(r"[.eE]", text) else int(text)
    return text


UNSEEN = re.compile("[" + "".join(map(chr, (*C1, *BIDIRECTIONAL, *SEPARATORS))) + "]")
"""Characters that change the order or the lines of what is shown; they are written as escapes.

A reader of YAML takes one of them, U+0085, for the end of a line.
"""
HALF = re.compile(r"[\ud800-\udfff]")
"""Half of a character, which is no text; Python has it for a byte that is not UTF-8, as in a file's name."""


BASE64 = re.compile(r"[A-Za-z][A-Za-z0-9+/]{199,}={0,2}")
"""A long vector. It stands in YAML as it is: it begins with a letter, so nothing takes it for a number."""


class _Writer(yaml.SafeDumper):
    """Writes no aliases, texts of several lines as blocks, and vectors without a look at each letter."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def analyze_scalar(self, scalar: str) -> ScalarAnalysis:
        if BASE64.fullmatch(scalar):
            return ScalarAnalysis(
                scalar,
                empty=False,
                multiline=False,
                allow_flow_plain=True,
                allow_block_plain=True,
                allow_single_quoted=True,
                allow_double_quoted=True,
                allow_block=False,
            )
        return super().analyze_scalar(scalar)


def _text(writer: _Writer, text: str) -> yaml.Node:
    if half := HALF.search(text):
        raise InputError(
            f"A case cannot have the text {brief(text)}: U+{ord(half[0]):04X} is half of a character.",
            "Write the character whole, or leave it out.",
        )
    style = "|" if "\n" in text else None
    if UNSEEN.search(text):
        style = '"'
    elif not isinstance(_scalar(text, plain=True), str):
        style = "'"  # PyYAML leaves 1e5 plain, since YAML 1.1 has no such number; the reader here has it
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _numbers(writer: _Writer, values: Sequence[Any]) -> yaml.Node:
    short = bool(values) and all(isinstance(one, int | float) for one in values)
    return writer.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=short)


_Writer.add_representer(str, _text)
_Writer.add_representer(list, _numbers)
_Writer.add_representer(tuple, _numbers)


LARGEST_FILE = 20_000_000
"""Bytes: some 5,000 chunks with their vectors."""
FORM = "docs/reports.md describes a case; `workbench case new` writes one."


def secrets_text(case: Case) -> str:
    """How many secrets may stand in the notes and questions of a case, in a sentence; empty for none."""
    texts = [*(one.text or "" for one in case.memory.notes or ()), *(one.question for one in case.questions)]
    secrets = sum(len(secret_spans(one)) for one in texts)
    if not secrets:
        return ""
    return f"{counted(secrets, 'secret')} may stand in its notes and questions, which are kept as they are."


@dataclass(frozen=True)
class CaseFile:
    """A case and the file that it was read from; its folder holds what the case keeps beside itself."""

    path: Path
    case: Case

    @property
    def folder(self) -> Path:
        return self.path.parent


def load_case(path: str | os.PathLike[str]) -> CaseFile:
    """The case in a file.

    Raises InputError for a file that cannot be read or has more than 20 MB, for a link that leads out of its
    folder, and for a file that is not a case: the message names the line and the field.
    """
    file = Path(path)
    try:
        real = file.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        problem = f"The case {one_line(str(file))} cannot be read: {error}."
        raise InputError(problem, "Check the path.") from None
    if file.is_symlink() and real.parent != file.parent.resolve():
        raise InputError(
            f"The case {one_line(str(file))} is a link that leads out of its own folder.",
            "Copy the case there; links are not followed.",
        )
    return CaseFile(file, parsed_case(read_plain(real, f"The case {file}"), str(file)))


def read_plain(file: Path, what: str) -> str:
    """The text of a plain file without a link in its path; messages call it `what`.

    Raises InputError for anything else, such as a named pipe, for more than 20 MB, and for bytes that are not
    UTF-8.
    """
    try:
        with files.open_below(files.FileLocation(file.parent, (file.name,))) as opened:
            data = opened.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{what} cannot be read: {getattr(error, 'strerror', None) or error}.", "Check the path."
        ) from None
    if len(data) > LARGEST_FILE:
        raise InputError(f"{what} has more than {LARGEST_FILE:,} bytes.", "Split it into smaller files.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{what} is not UTF-8: {error}.", "Convert it to UTF-8.") from None


def parsed_case(text: str, name: str) -> Case:
    """The case in a text; messages call it `name`. Raises InputError as `load_case` does."""
    try:
        tree = read_tree(text)
    except RefusedYamlError as error:
        raise _refused(name, error.line + 1, error.problem) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise _refused(name, mark.line + 1 if mark else _line_at(text, error), _reason(error)) from None
    except (ValueError, RecursionError) as error:
        raise _refused(name, 1, str(error)) from None
    if not isinstance(tree.values, dict):
        raise _refused(name, 1, "it has no keys")
    try:
        return Case.model_validate(tree.values)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        first = min(found, key=lambda one: one["type"] != "extra_forbidden")  # a misspelt key is missing too
        key_path = tuple(first["loc"])
        field = ".".join(map(str, key_path)) or "the case"
        problem = first["msg"].removeprefix("Value error, ")
        raise _refused(name, tree.line_of(key_path), f"{one_line(field)[:200]}: {problem}") from None


def _refused(name: str, line: int, problem: str) -> InputError:
    return InputError(f"{one_line(name)}, line {line}: {one_line(problem)[:500]}.", FORM)


def _reason(error: yaml.YAMLError) -> str:
    said = [getattr(error, part, None) for part in ("context", "problem", "reason")]
    return ", ".join(one for one in said if isinstance(one, str)) or "it is not YAML"


def _line_at(text: str, error: yaml.YAMLError) -> int:
    position = getattr(error, "position", 0)
    return text.count("\n", 0, position if isinstance(position, int) else 0) + 1


def case_text(case: Case) -> str:
    """The case as YAML: what has its default value is left out, and equal cases give equal texts.

    Raises InputError for half of a character in a text, which no file can have.
    """
    text = yaml.dump(
        {"case": case.case, **case.model_dump(exclude_defaults=True)},
        Dumper=_Writer,
        sort_keys=False,
        allow_unicode=True,
        width=1 << 30,
        default_flow_style=False,
    )
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04X}", text)  # they stand in double quotes alone


def save_case(case: Case, path: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """Writes a case to a file; either the whole text is there afterwards, or the old file is.

    Raises InputError for a file that exists, unless `overwrite`, and for a case that has no text, and
    StorageError if it cannot be written.
    """
    text = case_text(case)
    with files.replaced(path, overwrite) as out:
        out.write(text)
    return Path(path)


def case_files(given: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The case files among these paths: a file itself, or all `*.case.yaml` below a folder, in order.

    Files of others below a folder, which do not begin with the key of a case, are passed over. Raises
    InputError for a folder without a case.
    """
    found: list[Path] = []
    for one in map(Path, given):
        inside = sorted(filter(is_case, one.rglob(f"*{SUFFIX}"))) if one.is_dir() else [one]
        if not inside:
            raise InputError(f"There is no case in {one}.", f"The name of a case ends with {SUFFIX}.")
        found += inside
    return found
