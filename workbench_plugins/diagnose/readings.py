"""Ways to read a note as its writer meant it, each with the shell command that mends the file."""

from __future__ import annotations

import base64
import html
import quopri
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from unicodedata import category, combining, normalize
from urllib.parse import unquote

from workbench.retrieval.query import unicode_words


@dataclass(frozen=True)
class Reading:
    """A way to read a note: what the note has, what mends it, and the note as it is meant.

    `command` mends a file in the shell, and keeps the old text in a file whose name ends with .old.
    """

    has: str
    repair: str
    meant: Callable[[str], str]
    command: str = ""


def _visible(text: str) -> str:
    """The text without characters that have no shape, such as soft hyphens and zero-width spaces."""
    return "".join(one for one in text if category(one) != "Cf")


def _decoded(encoding: str, text: str) -> str:
    """Lines in an encoding that were read as Windows-1252 or Latin-1, as they were written."""
    return "\n".join(_decoded_line(encoding, line) for line in text.split("\n"))


def _decoded_line(encoding: str, line: str) -> str:
    for read_as in ("cp1252", "latin-1"):
        try:
            return line.encode(read_as).decode(encoding)
        except UnicodeError:
            continue
    return line


def _without_tags(text: str) -> str:
    """The text without HTML tags and comments, and with characters in place of their names."""
    return html.unescape(re.sub(r"<!--|-->|</?[A-Za-z][^<>]*>", "", text))


EMPHASIS = re.compile(r"(?<=\w)(\*{1,3}|_{2}|~~|==|`)(?=\w)|(?<!\w)_(?=\w)|(?<=\w)_(?!\w)")


def _without_emphasis(text: str) -> str:
    return EMPHASIS.sub("", text)


def _whole_words(text: str) -> str:
    return re.sub(r"(?<=\w)[-‐]\n[ \t]*(?=\w)", "", text)


def _closed_up(text: str) -> str:
    """The text with whole words in place of `w o r d s` with blanks between their letters."""
    return re.sub(r"(?<!\S)\w(?: \w){3,}(?!\S)", lambda match: match[0].replace(" ", ""), text)


def _unquoted(text: str) -> str:
    """A text in quoted-printable, as mail has it: `sho=` at the end of a line, and `=C3=BC` for ü."""
    if not re.search(r"=(?:\n|[0-9A-F]{2})", text):
        return text
    return quopri.decodestring(text.encode()).decode("utf-8", "replace")


FOREIGN = "асдеһіјӏорԛѕυνԝхуАВСЕНІЈКМОРЅТХУΑΒΕΗΙΚΜΝΟΡΤΥΧΖαοιρ"
LATIN = "acdehijlopqsuvwxyABCEHIJKMOPSTXYABEHIKMNOPTYXZaoip"
LOOKALIKES = str.maketrans(FOREIGN, LATIN)
"""Letters of Cyrillic and Greek that look like Latin ones."""
OF_ALPHABETS = re.compile(r"[\u0370-\u03ff\u0400-\u052f]")
"""A letter of Greek or Cyrillic."""


BASE64 = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/]{24,}={0,2}(?:\n[A-Za-z0-9+/]{4,}={0,2}$)*", re.MULTILINE)


def _from_base64(text: str) -> str:
    """The text with its runs of base64 decoded, where they are text, as in the body of a mail."""
    return BASE64.sub(lambda match: _decoded_run(match[0]), text)


def _decoded_run(run: str) -> str:
    try:
        meant = base64.b64decode(run).decode("utf-8")
    except ValueError:
        return run
    return meant if all(one.isprintable() or one.isspace() for one in meant) else run


def _unescaped(text: str) -> str:
    """The text with letters in place of their numbers: `%C3%BC`, and `\\u00fc` as in JSON."""
    plain = re.sub(r"(?:%[0-9A-Fa-f]{2})+", lambda match: unquote(match[0], errors="replace"), text)
    units = re.sub(r"\\u([0-9A-Fa-f]{4})", lambda match: chr(int(match[1], 16)), plain)
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # pairs of halves are letters


def _latin(text: str) -> str:
    """The text with the letters that they look like, in words that mix two alphabets or look Latin."""
    return text.translate(LOOKALIKES)


def _parted(text: str) -> str:
    """Names of many words in their words: `bilgePump` and `bilge_pump`, but not `iOS`."""
    return re.sub(r"(?<=[a-z]{2})(?=[A-Z])|(?<=[^\W_])_(?=[^\W_])", " ", text)


ACCENTS = {"´": "\u0301", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "¸": "\u0327", "˚": "\u030a"}
"""What stands before a letter in text that was copied from a PDF, and the accent that it means."""
COMBINING = "".join(rf"\x{{{ord(accent):x}}}" for accent in ACCENTS.values())
"""These accents as perl writes them."""
APART = re.compile(f"([{''.join(ACCENTS)}]) ?([^\\W\\d_])")


def _accented(text: str) -> str:
    """The text with `ó` in place of `´o`."""
    return APART.sub(lambda match: normalize("NFC", match[2].replace("ı", "i") + ACCENTS[match[1]]), text)


DOUBLED = re.compile(r"(?<!\w)(?:([^\W\d_])\1){2,}(?!\w)")
"""A word of which each letter stands twice, as PDFs print in bold."""


def _halved(text: str) -> str:
    """The text with `bold` in place of `bboolldd`."""
    return DOUBLED.sub(lambda match: match[0][::2], text)


def _composed(text: str) -> str:
    return normalize("NFKC", text)


READINGS = (
    Reading(
        "invisible characters inside words",
        "remove them from the note",
        _visible,
        r"perl -CSD -i.old -pe 's/\p{Cf}//g' FILE",
    ),
    Reading(
        "UTF-8 that was read as Latin-1",
        "restore its letters",
        partial(_decoded, "UTF-8"),
        "cp FILE FILE.old && iconv -f UTF-8 -t WINDOWS-1252 FILE.old > FILE",
    ),
    Reading(
        "HTML inside words",
        "write the words without tags and named characters",
        _without_tags,
        r"perl -CSD -i.old -0pe 's/<!--|-->|<\/?[A-Za-z][^<>]*>//g' FILE",
    ),
    Reading(
        "markup inside words",
        "write the words without it",
        _without_emphasis,
        f"perl -CSD -i.old -0pe 's/{EMPHASIS.pattern}//g' FILE",
    ),
    Reading(
        "words that are broken at the end of a line",
        "join their halves",
        _whole_words,
        r"perl -CSD -i.old -0pe 's/(?<=\w)[-\x{2010}]\n[ \t]*(?=\w)//g' FILE",
    ),
    Reading(
        "blanks between the letters of its words",
        "write the words without them",
        _closed_up,
        r"perl -CSD -i.old -0pe 's/(?<!\S)\w(?: \w){3,}(?!\S)/$& =~ s{ }{}gr/ge' FILE",
    ),
    Reading(
        "the quoted-printable form of a mail",
        "decode it",
        _unquoted,
        "perl -MMIME::QuotedPrint -i.old -0pe '$_ = decode_qp($_)' FILE",
    ),
    Reading(
        "a text in base64",
        "decode it",
        _from_base64,
        f"perl -MMIME::Base64 -i.old -0pe 's{{{BASE64.pattern}}}{{decode_base64($&)}}gme' FILE",
    ),
    Reading(
        "letters that are written as their numbers, as in an address or in JSON",
        "decode it",
        _unescaped,
        r"perl -i.old -0pe 's/%([0-9A-Fa-f]{2})/chr hex $1/ge; "
        r"s/\\u([0-9A-Fa-f]{4})/my $one = chr hex $1; utf8::encode($one); $one/ge' FILE",
    ),
    Reading(
        "letters of another alphabet that look like Latin ones",
        "write them with Latin letters",
        _latin,
        f"perl -CSD -Mutf8 -i.old -pe 'tr/{FOREIGN}/{LATIN}/' FILE",
    ),
    Reading(
        "letters in another Unicode form than NFKC",
        "write them in that form",
        _composed,
        "perl -CSD -MUnicode::Normalize -i.old -0pe '$_ = NFKC($_)' FILE",
    ),
    Reading(
        "accents that stand before their letters, as in text copied from a PDF",
        "write the letters with their accents",
        _accented,
        f"perl -CSD -Mutf8 -MUnicode::Normalize -i.old -0pe 's/{APART.pattern}/"
        f"NFC(($2 =~ tr{{ı}}{{i}}r).($1 =~ tr{{{''.join(ACCENTS)}}}{{{COMBINING}}}r))/ge' FILE",
    ),
    Reading(
        "letters that all stand twice, as a PDF has bold words",
        "write each once",
        _halved,
        f"perl -CSD -i.old -0pe 's/{DOUBLED.pattern}/$& =~ s{{(.)\\1}}{{$1}}gr/ge' FILE",
    ),
    Reading("several words written as one name", "write the words apart, too", _parted),
)

CODE_PAGES = ("CP850", "CP437", "MACINTOSH", "WINDOWS-1251", "KOI8-R")
"""Encodings of older systems, by the names that iconv and Python know."""


def in_code_page(text: str, asked: Mapping[str, set[str]]) -> list[Reading]:
    """The reading of a text in the code page that brings back most of some words; none if none does."""
    left = {name: len(missing_words(asked, _decoded(name, text))) for name in CODE_PAGES}
    name = min(left, key=left.__getitem__)
    if left[name] == len(asked):
        return []
    return [
        Reading(
            f"letters in {name} that were read in another encoding",
            "restore its letters",
            partial(_decoded, name),
            f"cp FILE FILE.old && iconv -f UTF-8 -t WINDOWS-1252 FILE.old | iconv -f {name} -t UTF-8 > FILE",
        )
    ]


DIGITS = str.maketrans("olisb", "01158")
"""The digits that a scan has in place of letters that look like them."""
BETWEEN_LETTERS = re.compile(r"[^\W\d_]\d+[^\W\d_]")


def scanned(text: str, words: Iterable[str]) -> list[Reading]:
    """The reading of a scan that has digits inside its words; none if it hides no word of the question.

    It changes words of the question alone, since the digits of `h264` and `5km` are meant. A digit stands
    between two letters in one of them at least: `5am` alone is a time, and not a name.
    """
    asked = {word.translate(DIGITS): word for word in words if word.isalpha()}
    meant = {
        token: _in_case(asked[alike], token)
        for token in dict.fromkeys(re.findall(r"\w+", text))
        if re.search(r"[^\W\d_]", token) and not token.isalpha()
        if (alike := token.lower().translate(DIGITS)) in asked
    }
    example = next(filter(BETWEEN_LETTERS.search, meant), "")
    if not example:
        return []
    changes = "; ".join(rf"s/\b{token}\b/{word}/g" for token, word in meant.items())
    return [
        Reading(
            f"digits inside its words, such as “{example}” for “{meant[example]}”",
            "write the words with letters",
            lambda other: re.sub(r"\w+", lambda match: meant.get(match[0], match[0]), other),
            f"perl -CSD -Mutf8 -i.old -pe '{changes}' FILE",
        )
    ]


def _in_case(word: str, like: str) -> str:
    """A word with capitals where another one has them: at its beginning, or everywhere."""
    return word.upper() if like.isupper() else word.capitalize() if like[0].isupper() else word


def command_mends(reading: Reading, text: str) -> bool:
    """Whether the command makes of the whole text what the reading makes of it line by line."""
    if isinstance(reading.meant, partial):
        encoding: str = reading.meant.args[0]
        try:
            return text.encode("cp1252").decode(encoding) == _decoded(encoding, text)
        except UnicodeError:
            return False
    if reading.meant is _latin:  # a text in Cyrillic or Greek would lose its own letters
        return not OF_ALPHABETS.search(_latin(text))
    if reading.meant is _unescaped:  # an address needs its numbers, and some are no letters
        halves = re.search(r"\\u[dD][89A-Fa-f]", text)
        return "://" not in text and halves is None and "\ufffd" not in _unescaped(text)
    if reading.meant is _from_base64:
        return all(_decoded_run(one) != one for one in BASE64.findall(text))
    return reading.meant is not _without_tags or html.unescape(text) == text


def missing_words(asked: Mapping[str, set[str]], text: str) -> dict[str, set[str]]:
    """Those of some words, each with its parts, that a text does not have."""
    there = words_of(text)
    return {word: parts for word, parts in asked.items() if not parts <= there}


def words_of(text: str) -> set[str]:
    """The words of a text as FTS5's unicode61 has them: parted at underscores, and without diacritics.

    A system that parts words otherwise may lack more of them. Nothing is said of these.
    """
    letters = normalize("NFD", text.lower().replace("_", " "))
    return {*unicode_words("".join(one for one in letters if not combining(one)))}
