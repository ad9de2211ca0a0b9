"""Masking takes time in proportion to the text, whatever the text repeats."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests import world
from tests.agent.test_agent import over
from workbench.errors import InputError
from workbench.safe_text import masked
from workbench_plugins.agent.arguments import LONGEST_NAME, MOST_ARGUMENTS

MEGABYTE = 1_000_000
REPEATED = [
    *("a-", "-", "_", "a", "a.", "-a_", "é", "1", "\x00", "…", "(", " ", "\n", '"', "'", "/", "@"),
    *("a@", ":a@", "sk-", "sk-a", "pk-sk-", "pa-", "pa-a", "AIza", "AKIA", "ghp_", "hf_", "xoxb-"),
    *("eyJ", "eyJ-", "eyJa.", "eyJaaaaaaaa.a.", "http://", "https://a", "http://?", "://", "://a"),
    *(":/", "postgresql://a:", "?", "key=", "token", "token:", "token=", "token =", " token", "token:'"),
    *("token:(", "token: …", "token: a …", "secret ", "api_key", "api key ", "password", "bearer "),
    *("authorization", "authorization:", "authorization: a "),
]  # fmt: skip


@pytest.mark.parametrize("pattern", REPEATED)
def test_a_megabyte_of_one_pattern_is_masked_in_a_second(pattern: str) -> None:
    text = pattern * (MEGABYTE // len(pattern.encode()))
    began = time.process_time()
    masked(text)
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://me:p@ss/word@host/db", "postgresql://…@host/db"),
        ("http://a http://b?key=abc", "http://a http://b?…"),
        ("http://?http://b?c", "http://?http://b?…"),
        ("my-api-key: abcd1234", "my-api-key: …"),
        ("sk-ordinary-words-alone", "sk-ordinary-words-alone"),
        ("sk-ordinary-words-with-1", "…"),
        ("eyJ.eyJabcdefgh.b.c", "eyJ.…"),
    ],
)
def test_a_secret_is_found_where_an_earlier_beginning_is_none(text: str, expected: str) -> None:
    assert masked(text) == expected


def test_a_call_with_a_long_name_is_refused_before_anything_looks_at_it(
    tmp_path: Path,
) -> None:
    world.write(tmp_path / "memory_of_wren")
    tools = over(tmp_path)
    long, many = "a-" * LONGEST_NAME, {f"a{number}": 1 for number in range(MOST_ARGUMENTS + 1)}
    for tool, given in ((long, {}), ("memory_search", {long: 1}), ("memory_search", many)):
        with pytest.raises(InputError, match="more than 64 characters") as error:
            tools.call(tool, given)
        assert len(str(error.value)) < 300
