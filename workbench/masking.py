"""Replaces secrets in any text that is shown, logged, saved or sent: the one place that does so.

Keys and tokens are found by their forms (`key_forms`). What no form can tell, such as a password, is found by
what stands before it: a name, a header, a command's option, or an address. Both are looked for in the text as
it is and after undoing entities, escapes and signs without width.

The time is linear in the length of the text: each expression has bounded repetitions.
"""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from html import unescape
from itertools import pairwise
from urllib.parse import unquote

from workbench.key_forms import Span, in_lower_case, known_keys

MASK = "…"
SECRET_NAME = re.compile(
    r"key$|token$|secret|passw(or)?d|passphrase|auth$|authori[sz]ation|credential|cookie|headers$|bearer",
    re.IGNORECASE,
)
"""Names of settings whose values are secret."""
WORD_OF_SECRET = re.compile(r"\w{6,}")
"""Shorter words of a secret are too likely to be ordinary ones."""
SHORTEST_OWN = 12
"""Shorter values of environment variables are too likely to be ordinary words."""

# Expressions: the group `secret` is what is replaced.

_TYPED = r""": ?[a-z]{3,15}\??[ \t]?=(?=[ \t]?["'`])"""
"""The type of a variable before its text, as in Swift and Python."""
_BETWEEN = (
    rf"""(?::value)?[\\"'`*_)\]]{{0,4}}[ \t]{{0,3}}(?:{_TYPED}|[:=|>：＝→]|=>|->|:=)"""
    r"""[\\"'`*_(\[ \t]{0,6}(?:SecretStr\(["'])?"""
)
_VALUE = (
    r"""(?P<secret>[a-z]{4}(?: [a-z]{4}){3}(?!\w)"""  # as Google writes the password of an app
    r"""|(?!…|\w{1,20} …|[<(${[])[^\s"'`,;|}\]<>\\]{4,2000})"""
)
_NO_WORDS = r"(?![a-z]{1,40}(?:[-_](?:[a-z]{1,40}|v?\d{1,10})){1,20}(?![\w-]))"
"""Not the name of a field, such as `primary_key: user_id_2024`: a service makes its keys of no words."""
_SCHEME = r"(?:(?:bearer|basic|token|digest|apikey)[ \t]{1,3})?"
_NOUN = (
    r"(?:api[-_ ]?key|token|secret|passw(?:or)?d|passphrase|passwort|kennwort|contrase\w{1,2}a|mot de passe"
    r"|senha|wachtwoord|пароль|密码|密钥|口令|パスワード|トークン|비밀번호)"
)
"""What a secret is called."""
_NAMED = re.compile(
    r"(?:(?:access|secret|private|account|signing|encryption|shared|master|service)[-_ ]?"
    rf"(?:access)?[-_ ]?key|(?<![a-z])pwd|(?<![a-z])sig|authtoken|credentials?|{_NOUN})" + _BETWEEN + _VALUE,
    re.IGNORECASE,
)
_ENDING = (
    r"(?:s|[-_]?(?:\d{1,3}|prod(?:uction)?|dev|test|stag(?:e|ing)|live|new|old|current|main|primary|backup"
    r"|base|admin|root|db))"
)
"""What tells several secrets of a name apart."""
_BELOW = r""":[ \t]{0,3}[|>]?\r?\n[ \t]{1,40}(?=[^\s:]{4,200}[ \t]{0,9}(?:\r?\n|\Z))["']?"""
"""Between a name of YAML and a value that is alone in the next line."""
_ENDED = re.compile(
    rf"(?:(?!tokens){_NOUN}|secret[-_ ]?key|(?<![a-z])pwd)(?:{_ENDING}?{_BELOW}|{_ENDING}{_BETWEEN}){_VALUE}",
    re.IGNORECASE,
)
"""A name with an ending, or a value below its name. The plural `tokens` says how many, and no secret."""
_SHORT = re.compile(
    r"""(?:(?<![a-z0-9_])pass(?==)|(?:^|[{,;])[ \t-]{0,20}["']?(?-i:pass)(?=["']?:)"""
    r"""|["']auth(?=["'][ \t]{0,3}:[ \t]{0,3}["'][\w+/]{16,2000}={0,2}["']))"""
    rf"{_BETWEEN}(?=[^\sa-z]{{0,40}}[a-z]){_VALUE}",
    re.IGNORECASE | re.MULTILINE,
)
"""A short name, which is an ordinary word as well: `PASS: 3 of 4` counts tests, and `auth` may be a kind."""
_KEYED = re.compile(
    r"(?:[a-z0-9]_(?:(?P<key>key)|pass|auth)|session[_-]?id|(?<![a-z])sid|signature)"
    rf"{_BETWEEN}(?(key){_NO_WORDS}){_VALUE}",
    re.IGNORECASE,
)
_TOLD = re.compile(
    rf"(?:{_NOUN}(?:[ \t]{{1,3}}(?:is|was|provided|ist|lautet|est|es|é)|[ \t]{{0,3}}[是为は:=])|identified by"
    r"|passw(?:or)?d(?=[ \t]['\"])|(?:api[-_]?key|secret|passw(?:or)?d)\w{0,12}\((?=['\"]))[ \t:]{0,3}"
    r"""["'`*]{0,3}(?P<secret>[^\s"'`,;|<>…]{4,500})""",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"""(?:(?P<key>key)|token|secret|password)(?:[ \t:=`]{1,4}|[ \t]{1,3}["'“«(]{1,2})"""
    rf"(?(key){_NO_WORDS})"
    r"(?P<secret>(?=[A-Za-z_-]{0,40}\d)[A-Za-z0-9_-]{20,500})",
    re.IGNORECASE,
)
_PAIRED = re.compile(
    r"""(?:key|token|secret|(?<!/)passw(?:or)?d|passphrase|authorization|cookie)\\?["'`][ \t]{0,3},\s{0,20}"""
    r"""(?:\\?["']?(?:string_?)?value\\?["']?[ \t]{0,2}[:=][ \t]{0,2}\{?\s{0,20}){0,2}"""
    r"""b?\\?["'`](?:bearer[ \t]|basic[ \t])?(?P<secret>[^\s"'`,…]{8,2000})""",
    re.IGNORECASE,
)
"""A name and a value as two texts of a list, or of an object that has both."""
_ATTRIBUTES = re.compile(
    r"""(?:key|token|secret|passw(?:or)?d|passphrase|pwd)\\?["'][ \t]{1,3}"""
    r"""(?:[\w-]{1,20}=\\?["'][^"'<>]{0,50}["'][ \t]{1,3}){0,3}(?:value|content)=\\?["']"""
    r"""(?P<secret>[^\s"'<>…]{8,2000})"""
    r"""|name:[ \t]{0,3}["']?[\w-]{0,60}(?:key|token|secret|passw(?:or)?d)["']?[ \t]{0,3}\r?\n"""
    r"""[ \t]{0,40}value:[ \t]{0,3}["']?(?P<below>[^\s"'<>…$][^\s"'<>…]{7,2000})""",
    re.IGNORECASE,
)
"""A name and a value as two attributes of a tag, or in two lines of YAML."""
_PHRASE = re.compile(
    rf"(?:mnemonic|(?:seed|recovery|secret)[-_ ]?phrase)(?:{_BETWEEN}|[ \t]{{1,3}}(?:is|was)[ \t]{{1,3}})"
    r"(?P<secret>[a-z]{3,8}(?:[ \t\r\n,]{1,3}[a-z]{3,8}){11,23})(?![a-z])",
    re.IGNORECASE,
)
"""The twelve to 24 words of a wallet."""
_GIVEN = re.compile(
    rf"""(?:[a-z_.](?:token|key)\(|{_NOUN}[ \t]to[ \t])["'`](?P<secret>[^\s"'`,;|<>…]{{8,500}})""",
    re.IGNORECASE,
)
"""The argument of a call that is named as a secret is, and what somebody set one to."""
_AWAY = (
    r"[^A-Za-z0-9]{1,20}(?:(?:value|string_?value|string|default|summary|text|td|th|code|pre|used|is|was|i|br"
    r"|span|b)[^A-Za-z0-9]{1,20}){0,4}"
)
"""What stands between a name and a value in another cell, line or attribute."""
_NEAR = re.compile(
    rf"(?:key|token|secret|password|passwort){_AWAY}"
    r"(?P<secret>(?=[A-Za-z_-]{0,30}\d)(?:(?:[A-Za-z]{2,10}[-_]){0,2}[A-Za-z0-9]{24,500}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))",
    re.IGNORECASE,
)
_NEAR_VARIABLE = re.compile(
    rf"(?<=_)(?:KEY|TOKEN|SECRET|PASSWORD|PASS){_AWAY}(?P<secret>(?=[\w-]{{0,60}}[A-Z])[A-Za-z0-9][\w.+/=~!#%-]{{7,500}})"
)
_HEADER = re.compile(
    r"(?:authori[sz]ation|x-[\w-]{0,30}(?:key|token|auth|secret|signature))" + _BETWEEN + _SCHEME + _VALUE,
    re.IGNORECASE,
)
_PARAMETERS = re.compile(
    r"authori[sz]ation" + _BETWEEN + r"[\w-]{1,40}[ \t]{1,3}"
    r"""(?P<secret>(?:[\w-]{1,30}=(?:\\?"[^"\r\n\\]{0,500}\\?"|[^\s,"']{1,500})(?:,[ \t]{0,3})?){1,20})""",
    re.IGNORECASE,
)
"""The parameters of a header, as those of Digest and of Amazon's signatures."""
_SPACED = re.compile(
    r"""(?:(?<=_)(?:KEY|TOKEN|SECRET|PASSWORD|PASS)[ \t]|\bx-[\w-]{0,30}(?:key|token|auth|secret)[\t\n])"""
    r"""[ \t\r\n]{0,3}["']?(?P<secret>[A-Za-z0-9][^\s"'`,;|<>…]{7,2000})"""
)
"""A variable or a header and its value without a sign between them."""
_COOKIE = re.compile(
    "cookies?" + _BETWEEN + r"""(?P<secret>[^\s"'=]{1,100}=[^\r\n"'`]{1,4000})""",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\bbearer[ \t]{1,3}(?P<secret>[\w.~+/=-]{6,4000})", re.IGNORECASE)
_OPTION = re.compile(
    r"""(?<![\w-])(?:-u|--user|--proxy-user)[ =]{1,3}["']?(?P<secret>[^\s"':]{1,200}:[^\s"']{1,500})"""
    r"""|--[a-z][\w-]{1,40}-(?:passw(?:or)?d|token|key|secret|auth)[ =]{1,3}["']?"""
    r"""(?P<named>(?!\d+(?:\s|$))(?=\D{0,60}\d)[^\s"'<$…-][^\s"']{7,500})"""
    r"""|--(?:passw(?:or)?d|token|api-key|secret|auth)[ =]{1,3}["']?(?P<given>[^\s"'<$…-][^\s"']{3,500})"""
    r"""|\b(?:(?:mysql|mariadb|sshpass|mongo|login)\w{0,10} [^\r\n]{0,100}?(?<= )-p"""
    r"""|ldap\w{1,10} [^\r\n]{0,100}?(?<= )-w|(?:redis|valkey)-cli [^\r\n]{0,100}?(?<= )-a)"""
    r""" ?["']?(?P<typed>[^\s"'$…-][^\s"']{3,200})"""
    r"""|(?<= )-pass(?:in|out)? pass:(?P<passed>[^\s"'$…][^\s"']{3,200})"""
    r"""|\bhtpasswd (?:-\w{1,5} ){0,3}-\w{0,5}b\w{0,5} (?:\S{1,200} ){1,2}"""
    r"""["']?(?P<last>[^\s"'$…<>-][^\s"']{3,200})"""
    r"""|\b(?:echo|printf) ["']?(?P<piped>[^\s"'$…-][^\s"']{3,200})["']? ?\| ?sudo -S"""
)
_LOGIN = re.compile(r"\blogin[ \t\n]{1,3}\S{1,100}[ \t\n]{1,3}password[ \t\n]{1,3}(?P<secret>\S{1,500})")
_PGPASS = re.compile(
    r"(?<![\w.-])[\w.*-]{1,60}:(?:\d{2,5}|\*):[\w*-]{1,40}:[\w*-]{1,40}:(?P<secret>\S{3,200})"
)
_HASHED = re.compile(
    r"(?P<secret>\$(?:[1-7]|2[abxy]|y|argon2\w{1,2}|pbkdf2[\w-]{0,20})\$[\w./$=,+-]{20,500})"
)
"""A password as `crypt` keeps it."""
_BOT = re.compile(r"(?<!\d)(?P<secret>\d{8,10}:[\w-]{35})(?![\w-])")
_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9])(?P<secret>(?:sk|pk|rk|gsk|pcsk|sbp|tvly|pplx|xai|figd|ntn)[-_](?=[\w-]{0,60}\d)[\w-]{10,300}|pa-[\w-]{30,300}|AIza[\w-]{20,100}"
    r"|(?:key|whsec|nrak|lsv2_[a-z]{2}|vcp|tok|token|secret|jina|co)[-_](?=[a-z0-9]{0,40}\d)[a-z0-9]{20,300}[\w-]{0,60}"
    r"|[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,45}|A(?:KI|SI)A[A-Z0-9]{16}|pat[a-z0-9]{14}\.[a-f0-9]{64}"
    r"|sk-[a-z]{40,300}|\d/\d{16}(?:/\d{16})?:[a-f0-9]{32}|[a-f0-9]{32}-us\d{1,2}(?!\w)|access_token\$\w{4,20}\$\w{10,40}\$\w{10,80})",
    re.IGNORECASE,
)
_BEFORE = (
    *("key", "token", "secret", "pass", "auth", "credential", "cookie", "bearer", "pwd", "sig"),
    *("-u", "user", "ldap", "-cli", "identified by", "sudo", "mnemonic", "phrase", "login"),
    *("contrase", "kennwort", "passe", "senha", "wachtwoord", "пароль"),
    *("密码", "密钥", "口令", "パスワード", "トークン", "비밀번호"),
)
"""One of these stands before whatever the expressions of names find."""
_ANY = ("",)
Words = tuple[re.Pattern[str], tuple[str, ...]]
"""An expression, and words of which one is in whatever it finds: reading a text for a word takes less."""
_SHAPED: tuple[Words, ...] = (
    (_NAMED, _ANY),
    (_HEADER, ("authori", "x-")),
    (_COOKIE, ("cookie",)),
    (_OPTION, ("-u", "--", "-p", "-w", "-a", "htpasswd", "sudo")),
    (_LOGIN, ("login",)),
    (_ATTRIBUTES, ("value", "content")),
    (_PHRASE, ("mnemonic", "phrase")),
)
_WITH_A_DIGIT: tuple[Words, ...] = (
    (_ENDED, _ANY),
    (_SHORT, ("pass", "auth")),
    (_KEYED, ("_key", "_pass", "_auth", "session", "sid", "signature")),
    (_TOLD, _ANY),
    (_BESIDE, _ANY),
    (_GIVEN, ("token(", "key(", " to", "\tto")),
    (_PAIRED, ("key", "token", "secret", "pass", "authorization", "cookie")),
    (_NEAR, ("key", "token", "secret", "passw")),
    (_BEARER, ("bearer",)),
    (_PARAMETERS, ("authori",)),
    (_NEAR_VARIABLE, ("_key", "_token", "_secret", "_pass")),
    (_SPACED, ("_key", "_token", "_secret", "_pass", "x-")),
)
"""Expressions of which only a value with a digit is a secret."""
_BY_FORM: tuple[Words, ...] = (
    (_PREFIXED, _ANY),
    (_PGPASS, (":",)),
    (_BOT, (":",)),
    (_HASHED, ("$",)),
)
"""Expressions that need no name before the secret."""

_BEGIN_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,4}")
_END_KEY = re.compile(r"-----END [A-Z0-9 ]{0,60}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINES = re.compile(r"(?:[\w+/=:, -]{0,200}(?:\\n|\r?\n|$)){0,200}")
_WORD = re.compile(r"[^\s'\"`<>|]+")
_RUN = re.compile(r"[A-Za-z0-9_-]{24,}")
_CAMEL = re.compile(r"[A-Z]?[a-z]{2,}")
_BEGUN = re.compile(
    r"(?<![A-Za-z0-9.-])([a-z][a-z0-9]{1,9})(?:[-_][a-z0-9]{2,8}){0,2}[-_.]"
    r"([a-z0-9]{24,300}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![A-Za-z0-9]|\.[a-z]{1,5}(?!\w))"
)
"""Letters that say whose key it is, and the key in small letters and digits, or a UUID."""
_OF_IDS = frozenset(
    {
        *("asst", "blob", "call", "cell", "chat", "col", "conv", "doc", "file", "git", "hash", "id", "img"),
        *("item", "job", "kb", "log", "md5", "mem", "msg", "node", "note", "page", "part", "req", "res"),
        *("rev", "row", "run", "seg", "sha", "step", "tag", "task", "text", "tmp", "tool", "user", "uuid"),
    }
)
"""Short words that stand before ids."""
_PART_AFTER = re.compile(r"([+/.-]|={1,2}(?!=))([\w-]{0,300})")
_HEX = frozenset("0123456789abcdef-")
_HAS_DIGIT = re.compile(r"\d")
_PART_BEFORE = re.compile(r"([+/.])([\w-]{0,300})")
_NEXT_LINE = re.compile(r"\r?\n([\w+/=-]{4,300})(?=\r?\n|$)")
NARROWEST = 60
"""A shorter line is not one that a terminal has wrapped."""
_IN_A_KEY = re.compile(r"\d|[a-z][A-Z]|[A-Z]{2}[a-z]")
"""What a part of a key has, and hardly a word."""
LONGEST_KEY = 4_000
"""The number of characters before and after a finding that may belong to the same key."""
_SLASHES = re.compile(r":/+")
"""What follows the scheme of an address; a `Path` has one slash of the two."""
_PADDED = re.compile(r"(?<![\w+/-])[\w+/-]{24,4000}={1,2}(?![\w=])")
_DOTTED = re.compile(r"[\w.-]{12,}")
_PARAMETER = re.compile(r"([?&#;])([^=&#;\s]{1,100})=([^&#;\s]{1,4000})")
_HARMLESS = frozenset(
    {"q", "query", "question", "text", "search", "term", "limit", "top_k", "topk", "size", "page", "offset"}
)
"""Parameters of an address that say what was asked for."""
_SECRET_PATH = re.compile(
    r"(?:(?:hooks?|webhook\w{0,10})(?:\.[\w.-]{1,80})?|/(?:key|token)(?=/[A-Za-z_-]{0,40}\d)(?=/[\w-]{16}))/(.{1,500})",
    re.IGNORECASE,
)

_ESCAPE = re.compile(
    r"&(?:#\d{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[a-zA-Z]{2,31};)"
    r"|%[0-7][0-9a-fA-F]|%[c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){1,3}"
    r"|\\u(?:[0-9a-fA-F]{4}|\{[0-9a-fA-F]{1,6}\})|\\x[0-9a-fA-F]{2}|\\[0-3][0-7]{2}|\\(?=[._~*-])"
    r"|(?<=[\w-])(?:\*\*|~~|__|\\\r?\n)(?=[\w-])|(?<=[\w-]{8})=\r?\n(?=[\w-]{8})|(?<=[\w-])<!--[^<>]{0,50}-->(?=[\w-])"
    r"|</?(?:a|b|br|code|em|font|i|kbd|mark|s|small|span|strong|sub|sup|tt|u|wbr)(?: [^<>]{0,100})? ?/?>"
    "|[\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
    "|[\U000e0000-\U000e0fff]"
    "|\x1b\\[[0-9;]{0,20}[A-Za-z]"
)
_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | dict.fromkeys((0xA0, 0x2007, 0x202F), " ")
MOST_UNDONE = 3
"""How often a text is decoded: `&amp;#45;` is an entity of an entity."""


def masked(text: str) -> str:
    """The text without what looks like a secret: keys, tokens, passwords, credentials in addresses.

    The values of this process's own variables named `…_KEY`, `…_TOKEN`, `…_SECRET` or `…_PASSWORD` go too.

    >>> masked("http://me:hunter2@host/v1?key=abc said: Incorrect API key provided: sk-abcdef1234")
    'http://…@host/v1?key=… said: Incorrect API key provided: …'
    """
    parts, end = [], 0
    for first, last in secret_spans(text):
        parts += [text[end:first], MASK]
        end = last
    return "".join([*parts, text[end:]])


def masking_of(questions: Iterable[str]) -> Callable[[str], str]:
    """A function that masks a text, and in it the words of the secrets of these questions.

    The words of a question stand alone in what a search says of it, where no form of a secret is left.
    """
    secrets = (text[begin:end] for text in questions for begin, end in secret_spans(text))
    words = {word for one in secrets for word in WORD_OF_SECRET.findall(one)}
    if not words:
        return masked
    known = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))), re.IGNORECASE)
    return lambda text: known.sub(MASK, masked(text))


def secret_spans(text: str) -> list[Span]:
    """Where the secrets of a text begin and end, in order and without overlap."""
    found = _whole_keys(text)
    plain, offsets = _undone(text)
    if plain != text:
        found += [(offsets[first], offsets[last]) for first, last in _whole_keys(plain)]
    return _merged(found)


def _merged(found: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for first, last in sorted(found):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


def _whole_keys(text: str) -> list[Span]:
    """Where secrets stand, each with what a slash, a plus or a wrapped line joins to it."""
    whole, read = list[Span](), 0
    for first, last in _merged(_spans(text)):
        if last > read:  # not yet read as a part of the key before it: each letter is read once
            begun, read = _begun_before(text, first, read), _ended_after(text, last)
            whole.append((begun, read))
    return whole


def _ended_after(text: str, last: int) -> int:
    end, line = last, text.rfind("\n", max(0, last - LONGEST_KEY), last) + 1
    while end < last + LONGEST_KEY:
        if part := _PART_AFTER.match(text, end):
            if part[1] in ".-/" and not _IN_A_KEY.search(part[2]):
                break
        elif end - line >= NARROWEST and (part := _NEXT_LINE.match(text, end)) and _IN_A_KEY.search(part[1]):
            line = part.start(1)
        else:
            break
        end = part.end()
    return end


def _begun_before(text: str, first: int, read: int) -> int:
    before = text[max(read, first - LONGEST_KEY) : first][::-1]
    length = 0
    while part := _PART_BEFORE.match(before, length):
        if part[1] != "+" and (len(part[2]) < 5 or not _IN_A_KEY.search(part[2][::-1])):
            break
        length = part.end()
    return first - length


def _undone(text: str) -> tuple[str, Sequence[int]]:
    """The text without entities, escapes, tags and signs without width, and where each character begins.

    The last offset is where the text ends.
    """
    text = text.translate(_WIDE)
    offsets: Sequence[int] = range(len(text) + 1)
    for _ in range(MOST_UNDONE):
        if _ESCAPE.search(text) is None:
            break
        text, offsets = _decoded(text, offsets)
    return text, offsets


def _decoded(text: str, offsets: Sequence[int]) -> tuple[str, Sequence[int]]:
    parts, kept_offsets, end = [], list[int](), 0
    for found in _ESCAPE.finditer(text):
        said = _meant(found[0])
        parts += [text[end : found.start()], said]
        kept_offsets += [*offsets[end : found.start()], *[offsets[found.start()]] * len(said)]
        end = found.end()
    return "".join([*parts, text[end:]]), [*kept_offsets, *offsets[end:]]


@lru_cache(maxsize=10_000)
def _meant(escape: str) -> str:
    """What an escape stands for; nothing for a sign without width, a tag, and what Markdown leaves out."""
    if escape.startswith("&"):
        return unescape(escape)
    if escape.startswith("%"):
        return unquote(escape)
    digits = escape[2:].strip("{}") if escape[:2] in ("\\u", "\\x") else ""
    code = int(digits, 16) if digits else int(escape[1:], 8) if escape[1:].isdigit() else 0
    return chr(code) if 0 < code <= sys.maxunicode else ""


def _spans(text: str) -> Iterator[Span]:
    lowered = in_lower_case(text)
    yield from _own(text)
    if "private key" in lowered or "private-lines" in lowered:
        yield from _private_keys(text)
    if ":/" in text or "hook" in lowered:
        for word in _WORD.finditer(text):
            yield from _in_address(word[0], word.start())
    if any(one in lowered for one in _BEFORE):
        yield from _named(text, lowered)
    for pattern, words in _BY_FORM:
        if any(one in lowered for one in words):
            yield from (one.span("secret") for one in pattern.finditer(text))
    yield from (one.span() for one in _RUN.finditer(text) if _is_random(one[0]))
    for one in _PADDED.finditer(text) if "=" in text else ():
        if _has_all_kinds(one[0]):
            yield one.span()
    yield from (one.span() for one in _BEGUN.finditer(text) if _is_key(one))
    for one in _DOTTED.finditer(text) if "eyJ" in text else ():
        begun = one[0].find("eyJ")
        if begun >= 0 and one[0].count(".", begun) > 1:  # a JSON web token
            yield one.start() + begun, one.end()
    yield from known_keys(text, lowered)


def _named(text: str, lowered: str) -> Iterator[Span]:
    """What stands after a name, a header or an option that says that it is secret."""
    for pattern, words in _SHAPED:
        for found in pattern.finditer(text) if any(one in lowered for one in words) else ():
            name = found.lastgroup or "secret"
            if not _is_count(found[name]):
                yield found.span(name)
    for pattern, words in _WITH_A_DIGIT:
        if any(one in lowered for one in words):
            yield from (one.span("secret") for one in pattern.finditer(text) if _has_digit(one["secret"]))


def _has_digit(text: str) -> bool:
    return _HAS_DIGIT.search(text) is not None and not _is_count(text)


def _has_all_kinds(text: str) -> bool:
    return _HAS_DIGIT.search(text) is not None and text not in (text.lower(), text.upper())


def _is_count(text: str) -> bool:
    """Whether a value is a plain number, such as that of `max_token: 4096`, which is no secret."""
    return text.isdigit() and len(text) < 7


def _is_random(run: str) -> bool:
    """Whether a long run of letters and digits changes so often between kinds that nobody wrote it."""
    kinds = ["d" if one.isdigit() else "u" if one.isupper() else "l" for one in run if one.isalnum()]
    changes = sum(one != other for one, other in pairwise(kinds))
    digits, upper, lower = map(kinds.count, "dul")
    if not upper:
        return run.isalnum() and len(run) >= 36 and digits >= 4 and changes >= 10 and not set(run) <= _HEX
    often = digits >= 3 and changes >= 10
    share = 0.37 if digits else 0.45  # of the letters of CamelCase hardly a third
    if min(upper, lower) < 3 or not (often or changes > share * len(kinds)):
        return False
    return sum(map(len, _CAMEL.findall(run))) < 0.8 * len(kinds)  # the name of a class is made of words


def _is_key(found: re.Match[str]) -> bool:
    """Whether what has the form of `_BEGUN` is a key, and not the id of a document or the like."""
    name, body = str(found[1]), str(found[2])
    if set(body) <= _HEX:
        return len(name) <= 4 and name not in _OF_IDS and _HAS_DIGIT.search(body) is not None
    kinds = [one.isdigit() for one in body]
    return sum(kinds) >= 4 and sum(one != other for one, other in pairwise(kinds)) >= 8


def _private_keys(text: str) -> Iterator[Span]:
    ends, end = [one.end() for one in _END_KEY.finditer(text)], 0
    for begun in _BEGIN_KEY.finditer(text):
        if begun.start() >= end:
            lines = _KEY_LINES.match(text, begun.end())
            closed = bisect(ends, begun.end())
            end = ends[closed] if closed < len(ends) else lines.end() if lines else begun.end()
            yield begun.start(), end


def _in_address(word: str, start: int) -> Iterator[Span]:
    """The credentials, the parameters and the secret paths of an address."""
    if scheme := _SLASHES.search(word):
        begun, rest = start + scheme.end(), word[scheme.end() :]
        web = word[: scheme.start()].lower().endswith(("http", "https"))
        authority = re.split(r"[/?#]", rest, maxsplit=1)[0] if web else rest
        user = authority.rpartition("@")[0]
        if user and not user.startswith(MASK):
            yield begun, begun + len(user)
        for parameter in _PARAMETER.finditer(rest):
            if parameter[2].lower() not in _HARMLESS:
                yield begun + parameter.start(3), begun + parameter.end(3)
    if found := _SECRET_PATH.search(word):
        yield start + found.start(1), start + found.end(1)


# The keys of this process

_OWN = re.compile(r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD)$")


def _own(text: str) -> Iterator[Span]:
    for key in own_keys():
        yield from (one.span() for one in re.finditer(re.escape(key), text))


def without_own_keys(text: str, keys: Iterable[str] | None = None) -> str:
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
