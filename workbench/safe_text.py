"""Text to print or to log: control characters become visible, and numbers have nouns."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
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
