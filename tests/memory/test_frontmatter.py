"""The YAML block at the head of a note: what is read, and what is refused with its line."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from workbench.errors import InputError
from workbench_plugins.automem.frontmatter import NOTHING, front_matter

BLOCK = """---
# what this note is
tags: [Tea, "rooibos"]
importance: 0.8
confidence: 0.4
date: 2026-02-13
topic: cup of tea
---
# Tea
A cup.
"""


def test_front_matter_is_read() -> None:
    found = front_matter("a.md", BLOCK)
    assert (found.tags, found.importance, found.confidence) == (("Tea", "rooibos"), 0.8, 0.4)
    assert found.date == datetime(2026, 2, 13, tzinfo=UTC)
    assert found.rest == {"topic": "cup of tea"}


@pytest.mark.parametrize(
    "text",
    ["", "# Tea\n", "---\n# A rule, and a heading\n", "---\nA sentence.\n---\n", "----\na: 1\n---\n", "---"],
)
def test_a_note_without_front_matter_says_nothing(text: str) -> None:
    assert front_matter("a.md", text) == front_matter("a.md", "---\ntags:\ndate: ~\n---\n") == NOTHING


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_byte_order_marks_line_ends_and_time_zones_are_understood(end: str) -> None:
    text = "\ufeff" + BLOCK.replace("\n", end)
    assert front_matter("a.md", text) == front_matter("a.md", BLOCK)
    zoned = front_matter("a.md", "---\ntimestamp: 2026-02-13T10:00:00+02:00\n---\n".replace("\n", end))
    assert zoned.date == datetime(2026, 2, 13, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "tags"), [("a, b", ("a", "b")), ("one two", ("one two",)), ("[1, x]", ("1", "x"))]
)
def test_tags_may_be_words_between_commas(line: str, tags: tuple[str, ...]) -> None:
    assert front_matter("a.md", f"---\ntags: {line}\n---\n").tags == tags


BROKEN = yaml.safe_load(Path(__file__).with_name("broken_front_matter.yaml").read_text(encoding="utf-8"))
NESTED = ("a: " + "[" * 3_000 + "]" * 3_000, 2, "nested more than 30 levels deep")


@pytest.mark.parametrize(("block", "line", "problem"), [*BROKEN, NESTED])
def test_broken_front_matter_is_named_with_its_file_and_line(block: str, line: int, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        front_matter("memory/a.md", f"---\n{block}\n---\ntext\n")
    assert f"memory/a.md cannot be used: line {line}:" in raised.value.problem
    assert problem in raised.value.problem


def test_a_block_that_goes_on_for_ever_is_named() -> None:
    with pytest.raises(InputError, match="more than 100,000 characters"):
        front_matter("a.md", "---\na: 1\n" + "# more\n" * 20_000 + "---\n")


def test_a_block_without_an_end_is_named() -> None:
    with pytest.raises(InputError, match="no end"):
        front_matter("a.md", "---\ntags: [a]\n# Tea\n")
