"""What in the wanted note hides its words: invisible characters, markup, broken words, a wrong encoding.

A reading is a way to read a text as its writer meant it. It is a cause if words of the question stand in the
note only in this reading; it is verified with the note in this reading in a temporary copy of the index.
"""

from __future__ import annotations

import base64
import html
import quopri
import re
import shlex
import tempfile
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import shorten
from urllib.parse import unquote

from workbench.contracts import Index
from workbench.errors import WorkbenchError
from workbench.measure.blame import Reruns
from workbench.memory.files import FileLocation, open_below
from workbench.memory.index import MemoryIndex
from workbench.memory.options import Options
from workbench.memory.store.sqlite import database
from workbench.memory.store.sqlite.location import SQLiteLocation
from workbench.memory.sync import index_folder
from workbench.records import FRONT_MATTER
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.pipeline import search
from workbench.retrieval.query import unicode_words
from workbench.safe_text import counted
from workbench.stop_words import content_words
from workbench.systems.catalogue import indexing
from workbench_plugins.diagnose.asked import LARGEST
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.chunk_sizes import chunker_named, cut_index, rebuilt
from workbench_plugins.diagnose.parameters import Aim, Goal


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
    return "".join(one for one in text if unicodedata.category(one) != "Cf")


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
    """Names of many words in their words: `bilgePump` and `bilge_pump`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W_])_(?=[^\W_])", " ", text)


ACCENTS = {"´": "\u0301", "¨": "\u0308", "ˆ": "\u0302", "˜": "\u0303", "¸": "\u0327", "˚": "\u030a"}
"""What stands before a letter in text that was copied from a PDF, and the accent that it means."""
APART = re.compile(f"([{''.join(ACCENTS)}]) ?([^\\W\\d_])")


def _accented(text: str) -> str:
    """The text with `ó` in place of `´o`."""
    return APART.sub(lambda match: _one_letter(match[2].replace("ı", "i") + ACCENTS[match[1]]), text)


def _one_letter(text: str) -> str:
    return unicodedata.normalize("NFC", text)


DOUBLED = re.compile(r"(?<!\w)(?:([^\W\d_])\1){2,}(?!\w)")
"""A word of which each letter stands twice, as PDFs print in bold."""


def _halved(text: str) -> str:
    """The text with `bold` in place of `bboolldd`."""
    return DOUBLED.sub(lambda match: match[0][::2], text)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


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
        r"NFC(($2 =~ tr{ı}{i}r).($1 =~ tr{´¨ˆ˜¸˚}{\x{301}\x{308}\x{302}\x{303}\x{327}\x{30a}}r))/ge' FILE",
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
    left = {name: len(_missing(asked, _decoded(name, text))) for name in CODE_PAGES}
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


def _scanned(text: str, words: Iterable[str]) -> list[Reading]:
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


def causes_in_note(runs: Reruns, index: Index, goal: Goal) -> Iterator[Cause]:
    """What is in the note or hides in it, the surest first."""
    yield from _hidden_words(runs, index, goal)
    yield from front_matter_causes(runs, index, goal)
    yield from _pictures(runs, index, goal)


DATA = re.compile(r"data:[\w.+/-]+(?:;[\w=.+-]+)*;base64,[A-Za-z0-9+/=\s]*[A-Za-z0-9+/=]")
"""A picture or another file that is written into a text as base64."""


def _pictures(runs: Reruns, index: Index, goal: Goal) -> Iterator[Cause]:
    """Pictures in base64 that outweigh the text of the note; verified with the note without them."""
    text = "" if goal.aim is Aim.OUT else _text(index, goal.path)
    found = DATA.findall(text)
    inside = sum(map(len, found))
    if 2 * inside > len(text) and _reached(runs, index, goal, DATA.sub("", text)):
        yield Cause(
            ("note",),
            f"{goal.path} has {counted(len(found), 'file')} written into it as base64, such as a picture: "
            f"{counted(inside, 'character')} of it, and {len(text) - inside:,} of text",
            "keep them in files of their own, and link to these, then index again",
            f"without them, the file is {goal.aim}",
            True,
        )


POINTER = "version https://git-lfs.github.com/spec/"
"""How a file begins that stands in place of a large one. Source: git-lfs, docs/spec.md."""


def _hidden_words(runs: Reruns, index: Index, goal: Goal) -> Iterator[Cause]:
    """What hides words of the question in the wanted note; nothing for an index without its texts.

    Each reading is tried alone, and then several together for the words that none alone brings back.
    """
    text = "" if goal.aim is Aim.OUT else _text(index, goal.path)
    if text.startswith(POINTER):
        yield Cause(
            ("note",),
            f"{goal.path} is a pointer of Git LFS, and its text is not here",
            "fetch it with `git lfs pull`, then index again",
            f"its first line is “{text.splitlines()[0]}”",
            verified=False,
            certain=True,
        )
        return
    asked = {one.lower(): _words(one) for one in content_words(unicode_words(runs.question))}
    missing = _missing(asked, text)
    found: list[Cause] = []
    readings = [*READINGS, *in_code_page(text, missing), *_scanned(text, missing)]
    for one in readings if text and missing else ():
        if one.meant(text) != text and (back := missing.keys() - _missing(missing, one.meant(text)).keys()):
            found.append(_hidden(runs, index, goal, [one], back))
            yield found[-1]
            asked = {word: parts for word, parts in asked.items() if word not in back}
    hidden = _missing(asked, text)
    if text and hidden and not any(one.verified for one in found):
        several = _together(readings, text, hidden)
        if several:
            back = missing.keys() - _missing(missing, _as_meant(several, text)).keys()
            yield _hidden(runs, index, goal, several, back)


def _missing(asked: Mapping[str, set[str]], text: str) -> dict[str, set[str]]:
    """Those of some words, each with its parts, that a text does not have."""
    there = _words(text)
    return {word: parts for word, parts in asked.items() if not parts <= there}


def _as_meant(readings: Sequence[Reading], text: str) -> str:
    """The text in several readings, one after the other."""
    for one in readings:
        text = one.meant(text)
    return text


def _together(readings: Sequence[Reading], text: str, hidden: Mapping[str, set[str]]) -> list[Reading]:
    """The fewest readings that together bring back hidden words, found by leaving out one after the other."""
    found = list(readings)
    left = _missing(hidden, _as_meant(found, text)).keys()
    if left == hidden.keys():
        return []
    for one in readings:
        fewer = [other for other in found if other is not one]
        found = fewer if _missing(hidden, _as_meant(fewer, text)).keys() <= left else found
    return found


def _hidden(
    runs: Reruns, index: Index, goal: Goal, readings: Sequence[Reading], back: Collection[str]
) -> Cause:
    """The cause that the note hides these words, tried with the note in some readings."""
    text = _text(index, goal.path)
    reached = _reached(runs, index, goal, _as_meant(readings, text))
    has, words = " and ".join(one.has for one in readings), ", ".join(sorted(back)[:4])
    outcome = {
        True: f"; with the note mended, the file is {goal.aim}",
        False: f"; with the note mended, the file is still not {goal.aim}",
        None: "",
    }
    repair = _shell(readings, index, goal.path, text) if reached else _by_hand(readings)
    return Cause(
        ("note",),
        f"{goal.path} has {has}, and so it does not have these words of the question: {words}",
        repair,
        f"read as it is meant, it has {counted(len(back), 'more word')} of the question{outcome[reached]}"
        + _lines_text(readings, text, back),
        verified=bool(reached),
        refuted=reached is False,
    )


def _lines_text(readings: Sequence[Reading], text: str, back: Collection[str]) -> str:
    """The first lines of the note that hide words; empty where a reading joins lines."""
    lines = text.splitlines()
    hiding = [
        f"line {number} (“{shorten(line, 60, placeholder=' …')}”)"
        for number, line in enumerate(lines, 1)
        if set(back) & (_words(_as_meant(readings, line)) - _words(line))
    ]
    return f". They are in {' and '.join(hiding[:2])}" if hiding else ""


def front_matter_causes(runs: Reruns, index: Index, goal: Goal) -> Iterator[Cause]:
    """Words of the question that only the front matter has, or a front matter that outweighs the text.

    Verified with the note in a temporary copy of the index: with its front matter written as text, or
    without it.
    """
    text = "" if goal.aim is Aim.OUT else _text(index, goal.path)
    front = FRONT_MATTER.match(text)
    if front is None:
        return
    inside, body = front[0].strip("-.\n"), text[front.end() :]
    asked = {one.lower() for one in content_words(unicode_words(runs.question))}
    only = sorted(asked & _words(inside) - _words(body))
    values = [line.partition(":")[2].strip(" []\"'") for line in inside.splitlines()]
    if only and _reached(runs, index, goal, f"# {' '.join(values)}\n\n{body}"):
        yield Cause(
            ("note",),
            f"only the front matter of {goal.path} has these words of the question: {', '.join(only[:4])}",
            "write them into a heading or the text of the note, too, then index again",
            f"with the values of its front matter as a heading, the file is {goal.aim}",
            True,
        )
    elif not only and len(inside) > len(body) and _reached(runs, index, goal, body):
        yield Cause(
            ("note",),
            f"the front matter of {goal.path} outweighs its text: {counted(len(inside), 'character')} of it, "
            f"and {len(body.strip()):,} of text",
            "shorten the front matter, then index again",
            f"without its front matter, the file is {goal.aim}",
            True,
        )


def _by_hand(readings: Sequence[Reading]) -> str:
    """What to do with a note in words."""
    return f"{', then '.join(one.repair for one in readings)}, then index again"


def _shell(readings: Sequence[Reading], index: Index, path: str, text: str) -> str:
    """The commands that mend the note's file and index it again; in words where no command does it.

    The first command keeps the old text, and each later one starts from what the one before has written.
    """
    inner = innermost(index)
    if not isinstance(inner, MemoryIndex) or inner.root is None:
        return _by_hand(readings)
    file = inner.root / path
    if path in inner.changed() or not file.is_file():
        return _by_hand(readings)
    commands: list[str] = []
    for one in readings:
        later = bool(commands)
        if not one.command or (later and KEEPS not in one.command) or not _does_the_same(one, text):
            return _by_hand(readings)
        commands.append(one.command.replace(KEEPS, " -i ") if later else one.command)
        text = one.meant(text)
    words = " && ".join(commands).replace("FILE", shlex.quote(str(file)))
    return f"{words} && workbench index {inner.command_options}"


KEEPS = " -i.old "
"""The option of perl that keeps the old text beside the file."""


def _does_the_same(reading: Reading, text: str) -> bool:
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


def _words(text: str) -> set[str]:
    """The words of a text as FTS5's unicode61 has them: parted at underscores, and without diacritics.

    A system that parts words otherwise may lack more of them. Nothing is said of these.
    """
    letters = unicodedata.normalize("NFD", text.lower().replace("_", " "))
    return {*unicode_words("".join(one for one in letters if not unicodedata.combining(one)))}


def _text(index: Index, path: str) -> str:
    """The text of a file as the index has it."""
    if index.size > LARGEST:
        return ""
    documents = index.documents() or ()
    return next((one.text for one in documents if one.path == path), "")


def _reached(runs: Reruns, index: Index, goal: Goal, text: str) -> bool | None:
    """Whether the answer is as wanted in a temporary index in which the note has another text.

    None, which is *not tried*, for an index that cannot be made again here.
    """
    try:
        memory = cut_index(index)
        chunker = chunker_named(memory.store.settings.chunker)
        assert chunker is not None  # cut_index has checked it
        with rebuilt(memory, chunker, "the note as it is meant", {goal.path: text}) as mended:
            return goal.reached(search(runs.question, runs.pipeline, mended, runs.vector))
    except WorkbenchError:
        return _reached_in_a_copy(runs, index, goal, text)


MOST_COPIED = 1000
"""A memory of more files is not copied."""


def _reached_in_a_copy(runs: Reruns, index: Index, goal: Goal, text: str) -> bool | None:
    """The same for an index whose chunker is not known: with a copy of the folder and of the index file."""
    inner = innermost(index)
    if not isinstance(inner, MemoryIndex) or inner.root is None or getattr(inner.embedder, "remote", False):
        return None
    paths = {path: Path(path) for path in inner.paths()}
    outside = any(one.is_absolute() or ".." in one.parts for one in paths.values())
    if outside or len(paths) > MOST_COPIED or inner.changed():
        return None
    with tempfile.TemporaryDirectory() as folder:
        root, file = Path(folder) / "notes", Path(folder) / "index.sqlite"
        try:
            for path, relative in paths.items():
                (root / relative).parent.mkdir(parents=True, exist_ok=True)
                with open_below(FileLocation(inner.root, relative.parts)) as note:
                    (root / relative).write_bytes(text.encode() if path == goal.path else note.read())
            database.copy(Path(inner.store.name), file)
            with SQLiteLocation(file).updating() as store:
                store.provenance.describe(folder=str(root))
            made_as = inner.store.provenance.indexed_as
            like = indexing(made_as) if made_as else None
            index_folder(root, inner.embedder, options=Options(index_path=file, skip=True, like=like))
            with MemoryIndex.open(file, inner.embedder, root) as mended:
                return goal.reached(search(runs.question, runs.pipeline, mended, runs.vector))
        except (OSError, WorkbenchError):
            return None
