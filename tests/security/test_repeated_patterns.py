"""What reads text of others takes time in proportion to it, whatever is repeated in it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
import yaml

from workbench.errors import InputError
from workbench.memory.safe_yaml import RefusedYamlError, load_yaml
from workbench_plugins.automem.frontmatter import front_matter
from workbench_plugins.basic_memory.notes import head_and_body
from workbench_plugins.cases.redact import Pseudonyms
from workbench_plugins.diagnose.triage import pieces
from workbench_plugins.explore.log import read_log
from workbench_plugins.qmd.qmd_legs import usable
from workbench_plugins.reproduce.reading import read_report

CHARACTERS = 60_000
MOST_SECONDS = 3.0
"""Of CPU. What looks at each character anew for each other one takes a minute."""
PATTERNS = [
    "a", "A", "1", " ", "\n", "\r\n", "\t", "a ", "a\n", "-", "- ", "- [", "#", "# a\n", "`", "```", "*",
    "![", "[", "[[", "](", "<!--", "<a ", "&#", '"', "'", "\\", "{", ":", "a: ", "=", "|", "| a |\n", "---\n",
    "[message_id:", "vec:", "vec: a  ", "\u200b", "\u00e9", "\u4e2d", "score 0.5 ", "memory/a.md ",
]  # fmt: skip


def logged(text: str) -> object:
    message = {"role": "user", "content": text}
    return read_log({"log": json.dumps({"type": "message", "message": message})})


READERS: dict[str, Callable[[str], object]] = {
    "report": read_report,
    "triage": pieces,
    "log": logged,
    "pseudonyms by word": lambda text: Pseudonyms("words", True).text(text),
    "pseudonyms by prefix": lambda text: Pseudonyms("prefixes", True).text(f"---\n{text}\n---\n"),
    "pseudonyms by letter": lambda text: Pseudonyms("letters", True).text(f"---\n{text}\n---\n"),
    "front matter": lambda text: front_matter("a.md", f"---\na: b\n{text}"),
    "head": head_and_body,
    "YAML": load_yaml,
    "variants of a model": lambda text: usable("tea", text),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_repeated_pattern_is_read_in_proportion_to_its_length(reader: str) -> None:
    read = READERS[reader]
    with suppress(InputError):
        read("tea")  # loads what it needs
    for pattern in PATTERNS:
        text = (pattern * CHARACTERS)[:CHARACTERS]
        began = time.process_time()
        with suppress(InputError, RefusedYamlError, yaml.YAMLError):
            read(text)
        assert time.process_time() - began < MOST_SECONDS, pattern
