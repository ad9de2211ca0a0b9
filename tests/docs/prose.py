"""The numbers in a lesson's prose, and the values of the cells that they repeat.

In a Markdown cell, `41<!-- hits["clamp"] -->` ties the word before the comment to a Python expression. A
reader does not see the comment. The expression runs where the text stands: after the code above it, before
the code below it. The word is a number, in digits or as a word up to twenty, and must equal the value as
rounded in the text. A value of True confirms a claim, and a text must be equal.

`40.4<!-- source: the report -->` says that a number comes from elsewhere. As a paragraph of its own, such a
comment stands for all numbers of the paragraph or the table above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

WORDS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
]  # fmt: skip
COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)
TIE = re.compile(r"([^\s<>]*)<!--\s*(.*?)\s*-->", re.DOTALL)
SOURCE = "source:"
NUMBER = re.compile(r"(?<![\w#.@])\d+(?:,\d{3})*(?:\.\d+)?(?![\w])")
NO_NUMBERS = re.compile(
    r"""```.*?```            # a block of code
    | `[^`]*`                # code
    | \$\$.*?\$\$ | \$[^$]*\$  # a formula
    | \[[^\]]*\]\([^)]*\)    # a link
    | ^About\ \d+\ minutes,\ and\ \d+\ for  # checked by a test of its own
    | \b20\d\d\.\d+\.\d+     # a release
    | \b(?:19|20)\d\d\)      # the year of a paper, in brackets
    | \b[Ll]essons?\ \d+(?:(?:,|\ and)\ \d+)*
    | \b(?:[Ff]ix|[Bb]ug)\ \d
    | \b95\ %(?=\ (?:\w+\ )?interval)
    | ^\#+\ [^\n]*$ | ^\d+\.\   # a heading, and the number of a list's item
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


class Tie(NamedTuple):
    """A word of the prose, and the expression whose value it repeats."""

    said: str
    expression: str


def ties(text: str) -> list[Tie]:
    """The tied words of a Markdown cell, in their order."""
    found = [Tie(said.strip("*_()“”"), expression) for said, expression in TIE.findall(text)]
    return [one for one in found if not one.expression.startswith(SOURCE)]


def description(said: str, value: Any) -> bool:
    """Whether a word of the prose says this value."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return said == value
    if said.lower() in WORDS:
        return bool(value == WORDS.index(said.lower()))
    digits = said.replace(",", "").replace("−", "-")
    places = len(digits.partition(".")[2])
    try:
        return abs(float(digits) - value) <= 0.5 * 10**-places + 1e-9
    except ValueError:
        return False


def evaluated(tied: list[Tie]) -> str:
    """A line of code that prints the values of the expressions as JSON."""
    values = "".join(f"({one.expression}), " for one in tied)
    return f"print(__import__('json').dumps([{values}], default=lambda value: value.item()))"


def with_ties(notebook: NotebookNode) -> list[tuple[NotebookNode, list[Tie]]]:
    """Adds a code cell before each Markdown cell that has ties, and returns these cells with their ties."""
    added = []
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (tied := ties(cell.source)):
            asks = new_code_cell(evaluated(tied))
            added.append((asks, tied))
            cells.append(asks)
        cells.append(cell)
    notebook.cells = cells
    return added


def differences(tied: list[Tie], values: list[Any]) -> Iterator[str]:
    """A sentence for each word that does not say its value."""
    for one, value in zip(tied, values, strict=True):
        if not description(one.said, value):
            yield f"The text says {one.said!r}, but {one.expression} is {value!r}."


def untied(notebook: NotebookNode) -> list[str]:
    """The numbers in the prose that no value, no code and no source explains, each with its line."""
    code = "\n".join(cell.source for cell in notebook.cells if is_code(cell))
    explained = {number.replace(",", "") for number in re.findall(r"\d+(?:\.\d+)?", code)}
    prose = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    return [
        f"{number}: {line.strip()}"
        for text in prose
        for line in plain(text).splitlines()
        for number in NUMBER.findall(line)
        if number.replace(",", "") not in explained
    ]


def plain(text: str) -> str:
    """The prose without what needs no tie: code, formulas, links, tied numbers, and those with a source."""
    blocks = re.split(r"\n\s*\n", text)
    told = [one for one, after in pairwise([*blocks, ""]) if not after.startswith(f"<!-- {SOURCE}")]
    return NO_NUMBERS.sub("", TIE.sub("", "\n\n".join(told)))


def is_code(cell: NotebookNode) -> bool:
    """Whether a reader sees this cell as code: the collapsed checks do not count."""
    return cell.cell_type == "code" and not is_check(cell)


def is_check(cell: NotebookNode) -> bool:
    """Whether the cell holds the checks of a section."""
    return "checks" in cell.metadata.get("tags", [])


def words(text: str) -> int:
    """The number of words that a reader sees."""
    return len(COMMENT.sub("", text).split())
