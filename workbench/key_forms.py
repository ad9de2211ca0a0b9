"""Finds keys and tokens by the forms of gitleaks, which `gitleaks.toml` holds, in time linear in the text.

Each form is an expression, and most begin with letters that are always the same, such as `ghp_`. One pass
over the text finds where any form can begin, and only those forms are tried there. The few that begin with
anything are tried on the whole text, where one of their keywords occurs.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

Span = tuple[int, int]
"""Where something begins and ends in a text."""

LEFT_OUT = "generic-api-key", "curl-auth-header", "curl-auth-user", "kubernetes-secret-yaml", "private-key"
"""Forms that are general, or have repetitions without a bound: `masking` has expressions for them."""
SHORTEST_BEGINNING = 2
_ANY_NAME = re.compile(r"^(?:\(\?i:)?\[\\w\.-\]\{0,50\}\?")
"""A name before the word that a form looks for; it is no part of the secret."""
_TAIL = r"""(?:[\x60'"\s;]|\\[nr]|$)"""
"""What gitleaks wants to see after a key. A report may have any other sign there, such as a tag."""
_REST = re.compile(r"[\w-]{0,200}")


_TOKEN = re.compile(
    r"\\.|\[\^?(?:\\.|[^\]\\])+\]|\(\?P<\w+>|\(\?[\w-]*[:=!]|[*+?]\??|\{\d+(?:,\d*)?\}\??|.", re.DOTALL
)
"""The parts of an expression: an escape, a class, the beginning of a group, a repetition, or a character."""
_REPEATED = re.compile(r"[*+?]\??|\{\d.*")


class Ways(NamedTuple):
    """The letters, in lower case, with which a text that fits an expression begins.

    `is_whole` says whether nothing else of the expression follows them.
    """

    letters: set[str]
    is_whole: bool


ANY = Ways({""}, is_whole=False)


class Form(NamedTuple):
    """An expression and its flags, not compiled: most texts need few of the two hundred."""

    expression: str
    flags: re.RegexFlag

    @property
    def pattern(self) -> re.Pattern[str]:
        """The expression, compiled once."""
        return _compiled(self)


@cache
def _compiled(form: Form) -> re.Pattern[str]:
    return re.compile(form.expression, form.flags)


class Forms(NamedTuple):
    """The forms by how they begin: `starting` have fixed letters, which `beginnings` finds.

    `anywhere` are the others, each with its keywords.
    """

    beginnings: re.Pattern[str]
    starting: dict[str, list[Form]]
    anywhere: list[tuple[list[str], Form]]


def known_keys(text: str, lowered: str) -> Iterator[Span]:
    """Where keys of a known form stand; `lowered` is the text in lower case, of the same length.

    Places of different forms may repeat and overlap.
    """
    forms, ends = known_forms(), defaultdict[Form, int](int)
    begun = forms.beginnings.search(lowered)
    while begun is not None:
        start = begun.start()
        for form in forms.starting[begun[0]]:
            if ends[form] <= start and (found := form.pattern.match(text, start)):
                ends[form] = found.end()
                yield _whole(found)
        begun = forms.beginnings.search(lowered, start + 1)
    for keywords, form in forms.anywhere:
        if any(one in lowered for one in keywords):
            yield from (_whole(found) for found in form.pattern.finditer(text))


def in_lower_case(text: str) -> str:
    """The text in lower case, with as many characters as before."""
    return text.replace("İ", "i").lower()


def _whole(found: re.Match[str]) -> Span:
    """The first group that has something, as gitleaks reads it, or all, up to the end of its word."""
    number = next((nth for nth, one in enumerate(found.groups(), start=1) if one), 0)
    rest = _REST.match(found.string, found.end(number))
    return found.start(number), rest.end() if rest else found.end(number)


@cache
def known_forms() -> Forms:
    """The forms of gitleaks as expressions of Python, none of them compiled yet."""
    rules = tomllib.loads(Path(__file__).with_name("gitleaks.toml").read_text(encoding="utf-8"))["rules"]
    by_beginning = defaultdict[str, list[Form]](list)
    anywhere = []
    for rule in rules:
        if "regex" in rule and "keywords" in rule and rule["id"] not in LEFT_OUT:
            form = _translated(rule["regex"])
            beginnings = _beginnings(_TOKEN.findall(form.expression)[::-1]).letters
            if min(map(len, beginnings)) < SHORTEST_BEGINNING:
                anywhere.append((rule["keywords"], form))
                continue
            for one in beginnings:
                by_beginning[one].append(form)
    starting = {one: _forms_at(one, by_beginning) for one in by_beginning}
    return Forms(re.compile(_any_of(starting)), starting, anywhere)


def _translated(pattern: str) -> Form:
    """An expression of Go as one of Python, which has flags at the beginning alone."""
    flags = re.IGNORECASE if "(?i)" in pattern else re.NOFLAG
    plain = pattern.replace("(?i)", "").replace(_TAIL, "").replace(r"\z", r"\Z").replace("[[", r"[\[")
    while named := _ANY_NAME.match(plain):
        plain = ("(?i:" if "(?i:" in named[0] else "") + plain[named.end() :]
    return Form(plain, flags)


def _beginnings(tokens: list[str]) -> Ways:
    """How a text that fits an expression begins; takes its tokens, up to the end of its group.

    `tokens` are in reverse, so that the next one is the last.
    """
    ways = [_sequence(tokens)]
    while tokens and tokens[-1] == "|":
        tokens.pop()
        ways.append(_sequence(tokens))
    return Ways({one for way in ways for one in way.letters}, all(one.is_whole for one in ways))


def _sequence(tokens: list[str]) -> Ways:
    ways = Ways({""}, is_whole=True)
    while tokens and tokens[-1] not in ("|", ")"):
        part = _repeated(_part(tokens), tokens)
        if ways.is_whole:
            ways = Ways({before + one for before in ways.letters for one in part.letters}, part.is_whole)
    return ways


def _repeated(part: Ways, tokens: list[str]) -> Ways:
    """A part with the sign of repetition that may follow it."""
    if not tokens or not _REPEATED.fullmatch(tokens[-1]):
        return part
    return ANY if tokens.pop().startswith(("*", "?", "{0")) else Ways(part.letters, is_whole=False)


def _part(tokens: list[str]) -> Ways:
    """One letter, class or group of an expression."""
    token = tokens.pop()
    if token.startswith("("):
        inside = _beginnings(tokens)
        tokens.pop()
        return ANY if token in ("(?=", "(?!") else inside
    if token.startswith("["):
        return Ways(set(token[1:-1].lower()), is_whole=True) if token[1:-1].isalpha() else ANY
    if token in (r"\b", "^", "$"):
        return Ways({""}, is_whole=True)
    if token == "." or (token.startswith("\\") and token[1].isalnum()):
        return ANY
    return Ways({token.removeprefix("\\").lower()}, is_whole=True)


def _forms_at(beginning: str, known: dict[str, list[Form]]) -> list[Form]:
    """The expressions to try where these letters stand: those of a shorter beginning too."""
    return list(dict.fromkeys(one for key in known if beginning.startswith(key) for one in known[key]))


def _any_of(words: Iterable[str]) -> str:
    """An expression that finds the longest of the words at an offset, and reads each of its letters once."""
    following = defaultdict[str, list[str]](list)
    for word in words:
        following[word[:1]].append(word[1:])
    may_end = following.pop("", None) is not None
    ways = [re.escape(letter) + _any_of(rest) for letter, rest in sorted(following.items())]
    if not ways:
        return ""
    return f"(?:{'|'.join(ways)}){'?' if may_end else ''}"
