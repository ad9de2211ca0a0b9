"""What the memory tools take, under two releases of OpenClaw and in the workbench's own tools.

The arguments of a tool are checked before anything is searched or read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.errors import InputError
from workbench.retrieval.cutoff import Limit

MOST_RESULTS = int(Limit.ranges["count"][1])

Number = Annotated[float, Field(allow_inf_nan=False)]
Count = Annotated[Number, Field(le=MOST_RESULTS)]
Whole = Annotated[int, Field(ge=1, le=2**31)]


class Arguments(BaseModel):
    """A tool's arguments under OpenClaw's names; `max_results` is accepted for `maxResults` too."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)


class FebruarySearch(Arguments):
    """The arguments of `memory_search` in 2026.2.13: numbers of any size and sign, also written as text."""

    query: str = Field(description="What to look for, in words that the note itself uses.")
    max_results: Count | None = Field(None, alias="maxResults", description="Return at most this many.")
    min_score: Number | None = Field(
        None,
        alias="minScore",
        description="Drop what scores below this. Leave it out unless the user asks for it.",
    )

    @property
    def corpora(self) -> tuple[str, ...]:
        """The sources that are searched; empty means all of them."""
        return ()


class SeptemberSearch(FebruarySearch):
    """The arguments of `memory_search` in 2026.9.6."""

    max_results: Annotated[Whole, Field(le=MOST_RESULTS)] | None = Field(
        None, alias="maxResults", description="Return at most this many."
    )
    corpus: Literal["memory", "wiki", "all", "sessions"] | None = Field(
        None, description="memory: only notes; sessions: only chat transcripts; all, or left out: both."
    )

    @property
    def corpora(self) -> tuple[str, ...]:
        return () if self.corpus in (None, "all") else (str(self.corpus),)


class WorkbenchSearch(SeptemberSearch):
    """The arguments of `memory_search` under the workbench's contract, whose answers have a length."""

    more: Annotated[Whole, Field(le=MOST_RESULTS)] | None = Field(
        None, description="The first result to show: the number `more` of the answer before."
    )
    columns: bool = Field(
        False,
        description="For a log of searches: give each result all its numbers by name, too. "
        "The answer is then longer.",
    )


class FebruaryGet(Arguments):
    """The arguments of `memory_get` in 2026.2.13: a fraction is cut off, and less than 1 counts as 1."""

    path: str = Field(description="A path as memory_search returns it, such as memory/tea.md.")
    from_: Number | None = Field(None, alias="from", description="The first line, counting from 1.")
    lines: Number | None = Field(None, description="How many lines.")

    @property
    def is_of_wiki(self) -> bool:
        """Whether the file is in a wiki. The workbench has no wiki."""
        return False


class SeptemberGet(FebruaryGet):
    """The arguments of `memory_get` in 2026.9.6."""

    from_: Whole | None = Field(None, alias="from", description="The first line, counting from 1.")
    lines: Whole | None = Field(None, description="How many lines; 120 when left out.")
    corpus: Literal["memory", "wiki", "all"] | None = Field(
        None, description="Where the file is; memory when left out."
    )

    @property
    def is_of_wiki(self) -> bool:
        return self.corpus == "wiki"


class OfOneSearch(Arguments):
    """The arguments of the workbench's own tools, which are about one search: OpenClaw has none like them."""

    query: str = Field(description="The question of the search, word for word.")
    max_results: Count | None = Field(None, alias="maxResults", description="The same as in the search.")
    min_score: Number | None = Field(None, alias="minScore", description="The same as in the search.")


LONGEST_PATH = 4_096


class Explain(OfOneSearch):
    """The arguments of `memory_explain`."""

    path: str | None = Field(
        None,
        max_length=LONGEST_PATH,
        description="A file whose fate is explained, such as one that should have been found.",
    )
    more: bool = Field(False, description="Show every number, and more of the dropped candidates.")


class Diagnose(OfOneSearch):
    """The arguments of `memory_diagnose`."""

    path: str | None = Field(
        None, max_length=LONGEST_PATH, description="A file that should be in the answer, or first in it."
    )
    unwanted: str | None = Field(
        None, max_length=LONGEST_PATH, description="Instead of path: a file that should not be in the answer."
    )


class SaveCase(OfOneSearch):
    """The arguments of `memory_case`: the name of the file is not among them."""

    path: str = Field(
        max_length=LONGEST_PATH, description="The file of the memory that should have been found."
    )


LONGEST_NAME, MOST_ARGUMENTS = 64, 32


def check_names(tool: str, given: Mapping[str, Any]) -> None:
    """Raises InputError for a long name of a tool or an argument, and for many arguments.

    Nothing has read the names before, and the error does not repeat them.
    """
    if len(given) > MOST_ARGUMENTS or max(map(len, (tool, *given))) > LONGEST_NAME:
        raise InputError(
            f"The call has a name of more than {LONGEST_NAME} characters, or more than {MOST_ARGUMENTS} "
            "arguments.",
            "Ask for the list of tools, and use the names in it.",
        )


A = TypeVar("A", bound=Arguments)


def checked(kind: type[A], tool: str, given: Mapping[str, Any]) -> A:
    """The arguments of a tool; null means absent.

    Raises InputError, naming each argument that is missing, unknown or of a value that is not allowed.
    """
    try:
        return kind.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
    takes = ", ".join(
        (field.alias or name) + (" (required)" if field.is_required() else "")
        for name, field in kind.model_fields.items()
    )
    raise InputError(f"{tool} cannot use its arguments: {wrong}.", f"It takes {takes}.")
