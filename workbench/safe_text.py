"""Text to print or to log: control characters become visible, secrets an ellipsis, and numbers have nouns."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

C0 = [code for code in range(32) if code not in (ord("\t"), ord("\n"))]
C1 = range(0x80, 0xA0)
BIDIRECTIONAL = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
SEPARATORS = (0x2028, 0x2029)
SURROGATES = range(0xD800, 0xE000)

_PICTURES: Mapping[int, int] = {code: 0x2400 + code for code in C0} | {0x7F: 0x2421}
_UNSEEN = dict.fromkeys((*C1, *BIDIRECTIONAL, *SEPARATORS, *SURROGATES), 0xFFFD)
VISIBLE: Mapping[int, int] = {**_PICTURES, **_UNSEEN}
"""What is printed for each control character: a picture of one column (Unicode's U+2400 block) or U+FFFD."""

_LINE: Mapping[int, int] = {**VISIBLE, ord("\t"): 0x2409, ord("\n"): 0x240A}

_ESCAPED_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "file"), counted(2000, "chunk")
    ('1 file', '2,000 chunks')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def beginning(text: str, units: int) -> str:
    """The first `units` UTF-16 code units of a text; a surrogate pair is never split."""
    return text.encode("utf-16-le", "surrogatepass")[: units * 2].decode("utf-16-le", "ignore")


def visible(text: str) -> str:
    r"""The text with control characters replaced by visible ones; line ends and tabs stay.

    Replaced are C0, DEL, C1, bidirectional controls, line separators and lone surrogates.

    >>> visible("a\x1b]0;title\x07b")
    'a␛]0;title␇b'
    """
    return text if text.isprintable() else text.translate(VISIBLE)


def one_line(text: str) -> str:
    r"""`visible(text)` in one line: its line ends and tabs are replaced too.

    >>> one_line("notes\n  Source: forged.md")
    'notes␊  Source: forged.md'
    """
    return text if text.isprintable() else text.translate(_LINE)


def json_text(what: Any, only_ascii: bool = False) -> str:
    r"""`what` as indented JSON in which every control character is escaped, so no text is lost.

    `only_ascii` escapes everything beyond ASCII as well.

    >>> json_text("naïve \x9b1m")
    '"naïve \\u009b1m"'
    """
    text = json.dumps(what, indent=2, ensure_ascii=only_ascii)
    return _ESCAPED_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


MASK = "…"
SECRET_NAME = re.compile(
    r"key$|token$|secret|passw(or)?d|passphrase|auth$|authori[sz]ation|credential|cookie|headers$|bearer",
    re.IGNORECASE,
)
"""Names of settings whose values are secret."""


def _linear(pattern: str, instead: str = MASK) -> tuple[re.Pattern[str], Callable[[re.Match[str]], str]]:
    """A pattern that takes time in proportion to the text, and what replaces a match.

    The pattern has an alternative that reads the same characters and has no secret in it, so that no
    character is read again from each later place; `secret` names the group of the other alternative.
    """
    return re.compile(pattern), lambda found: found.expand(instead) if found["secret"] else found[0]


_SECRETS: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    # `Path` turns `//` into `/`. A password in an address of a database may hold anything but blanks.
    _linear(r"((?<!http)(?<!https):/+)(?:(?P<secret>[^\s'\"]+)(?=@)|[^\s'\"]*+)", rf"\1{MASK}"),
    (re.compile(r"(:/+)[^/\s@'\"]+(?=@)"), rf"\1{MASK}"),
    (re.compile(r"(?i)\b(authori[sz]ation[\"']?\s*[:=]\s*[\"']?\w+)\s+[^\s\"',;}]+"), rf"\1 {MASK}"),
    (re.compile(r"(?i)\b(bearer)\s+(?=[\w.~+/=-]*\d)[\w.~+/=-]{6,}"), rf"\1 {MASK}"),
    _linear(r"(?i)(\bhttps?://)(?:([^\s?'\"]++\?)(?P<secret>[^\s'\"]++)|[^\s?'\"]*+)", rf"\1\2{MASK}"),
    (
        re.compile(
            r"(?i)(api[-_ ]?key|token|secret|password|passwd|authori[sz]ation)"
            r"([\"']?\s*[:=]\s*[\"']?)(?:(?!…|\(|\w+ …)[^\s\"',;}\]]{4,})"
        ),
        rf"\1\2{MASK}",
    ),
    _linear(r"\b(?:sk|pk|rk)-(?:(?P<secret>(?=[\w-]*\d)[\w-]{10,})|[\w-]*+)"),
    (re.compile(r"\bpa-[\w-]{30,}"), MASK),
    (re.compile(r"\b(?:AIza[\w-]{20,}|AKIA\w{16}|gh[opsur]_\w{20,}|hf_\w{20,}|xox[abp]-[\w-]{10,})"), MASK),
    _linear(r"\beyJ(?:(?P<secret>[\w-]{8,}+\.[\w-]++\.[\w-]*+)|[\w-]*+)"),
]

_OWN = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD)$")
SHORTEST_OWN = 12
"""Shorter values of environment variables are too likely to be ordinary words."""


def masked(text: str) -> str:
    """The text without what looks like a secret: keys, tokens, passwords, credentials in addresses.

    The values of this process's own variables named `…_KEY`, `…_TOKEN`, `…_SECRET` or `…_PASSWORD` go too.

    >>> masked("http://me:hunter2@host/v1?key=abc said: Incorrect API key provided: sk-abcdef1234")
    'http://…@host/v1?… said: Incorrect API key provided: …'
    """
    text = without_own_keys(text)
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


def without_own_keys(text: str, keys: Sequence[str] | None = None) -> str:
    """The text without the values of this process's own variables that hold keys (see `masked`).

    `keys` are these values, where `own_keys()` has been called before.
    """
    for key in own_keys() if keys is None else keys:
        text = text.replace(key, MASK)
    return text


def own_keys() -> list[str]:
    """The keys in this process's environment: values of variables named `…_KEY`, `…_TOKEN` and the like."""
    return [
        value
        for name, value in os.environ.items()
        if len(value) >= SHORTEST_OWN and _OWN.search(name.upper())
    ]


def is_secret_name(name: str) -> bool:
    """Whether the dotted name of a setting, or a part of it, names a secret.

    >>> is_secret_name("memory.qmd.apiKey"), is_secret_name("chunking.tokens")
    (True, False)
    """
    return any(SECRET_NAME.search(part) for part in name.split("."))
