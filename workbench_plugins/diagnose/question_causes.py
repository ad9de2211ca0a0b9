"""The question itself as the cause, and another question that works, found by trying.

The question is in another language than the notes (see `question_language`); none of its words of content is
in any note; it spells words otherwise than the notes; it is hidden in a longer text; something hides its
words, as HTML does; it writes a date in a form that no note has (see `question_dates`); it writes a name
short or in full, where the note has the other one (see `short_forms`), or a name or a quantity otherwise (see
`written_otherwise`), or a word with other punctuation or capitals that a leg minds (see `misread_terms`); or
it has a form that a search reads as plain words (see `question_syntax`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from workbench.memory.embedding.local import LocalEmbedder
from workbench.retrieval.index_adapters import innermost
from workbench.retrieval.legs import QueryLeg
from workbench.retrieval.query import unicode_words
from workbench.safe_text import counted
from workbench.stop_words import STOP_WORDS
from workbench_plugins.diagnose.asked import MANY_WORDS, Asked, short
from workbench_plugins.diagnose.causes import Cause
from workbench_plugins.diagnose.chunk_causes import HEADING
from workbench_plugins.diagnose.content_words import content_words, replaceable
from workbench_plugins.diagnose.misread_terms import misread_terms
from workbench_plugins.diagnose.question_dates import date_otherwise
from workbench_plugins.diagnose.question_language import SAMPLE, in_another_language
from workbench_plugins.diagnose.question_syntax import syntax_causes
from workbench_plugins.diagnose.readings import READINGS
from workbench_plugins.diagnose.short_forms import NUMBERS_IN_WORDS, short_form_causes, spelled_out
from workbench_plugins.diagnose.spelling import (
    LONG_WORD,
    is_near,
    slips,
    sound,
    sounds_alike,
    spelled_alike,
    stems,
)
from workbench_plugins.diagnose.unread_scripts import UNSPACED, script
from workbench_plugins.diagnose.written_otherwise import written_otherwise

NAME = 7
"""A name of so many letters may be misremembered by two of them, if no note has it."""
TELLING = 6
"""A word of so many letters is hardly near to another one by accident, where no file says what is wanted."""
NEAR_MEANING = 0.4
"""Words with a smaller cosine mean other things: car and vehicle have 0.87, EFB and rules 0.30."""
NUMBER = re.compile(r"\d{2,}")
ABBREVIATION = re.compile(r"(?=.*[A-Z])[A-Z0-9]{2,5}")
SENTENCE = re.compile(r"[^\n.!?。！？]+[.!?。！？]*")
ASKS = "who|what|when|where|why|how|which|whose"
ASKING = re.compile(rf"\b(?:{ASKS})\b", re.IGNORECASE)
CLAUSE = re.compile(r"[,;:，；：]|\s[–—-]\s")
"""What parts the clauses of a sentence."""
SPEAKER = re.compile(
    r"^\s*(?:[-*>]\s*)?(?:\[[^\]]{1,30}\]\s*)?(?:\d{1,2}:\d\d(?::\d\d)?\s*)?(?:\w{1,20}:\s)?"
)


def question_causes(asked: Asked) -> list[Cause]:
    """What is wrong with the question, the surest first; empty for a question like the notes."""
    return causes_of_form(asked) or causes_of_words(asked) or other_words(asked)


def causes_of_form(asked: Asked) -> list[Cause]:
    """What the form of the question says by itself, the surest first."""
    whole = [*date_otherwise(asked), *misread_terms(asked), *syntax_causes(asked)]
    long = len(asked.question.split()) >= MANY_WORDS
    found = [*_hidden(asked), *whole] if long else [*whole, *_hidden(asked)]
    found = found or [*short_form_causes(asked)] or [*written_otherwise(asked)]
    found = found or [*_disguised(asked)] or [*in_another_language(asked)]
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
        parts = SEVERAL.split(asked.question)
        several = len(parts) > 1 and all(ASKING.match(one) for one in parts)
        text = f"the question stands in a text of {count} words, whose other words are searched for, too"
        yield asked.cause(
            _several_things(parts) if several else text,
            shorter,
            f"“{short(shorter)}” alone {asked.outcome}; the whole text does not",
        )


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text without speakers and times: those that ask first, the last one first.

    After them come the clauses of each that ask something in English.
    """
    lines = [SPEAKER.sub("", line) for line in text.splitlines()]
    some = [one.strip() for line in lines for one in SENTENCE.findall(line) if len(one.split()) > 2]
    yield from (one for one in reversed(some) if one.endswith(("?", "？")))
    yield from (one for one in reversed(some) if not one.endswith(("?", "？")))
    clauses = [part.strip() for one in some for part in CLAUSE.split(one)]
    yield from (one for one in reversed(clauses) if len(one.split()) > 2 and ASKING.search(one))


# Words in a disguise


def _disguised(asked: Asked) -> Iterator[Cause]:
    """Words that something hides as it hides those of a note, such as HTML or a wrong encoding."""
    readings = {one.meant(asked.question): one for one in READINGS} if asked.deep else {}
    better = asked.first_that_works(iter(readings))
    if better:
        yield asked.cause(f"the question has {readings[better].has}: a search takes it as it stands", better)


# Words that no note has


def _words(asked: Asked) -> Iterator[Cause]:
    known = asked.vocabulary
    content = content_words(asked)
    missing = [one for one in content if not (is_near(one.lower(), known) or _has_pieces(one, known))]
    # A date or another number says what is asked for, too.
    every = len(missing) == len(content) and not NUMBER.search(asked.question)
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


IDEOGRAPH = re.compile("(?<![\u3400-\u9fff])[\u3400-\u9fff](?![\u3400-\u9fff])")
"""A Chinese character that stands alone between others, as a word of Japanese often does."""


def _has_pieces(word: str, known: Counter[str]) -> bool:
    """Whether notes have a part of a word in a script without blanks, in which a whole sentence is one word.

    A part is two neighbouring characters, or a Chinese one that stands alone between others.
    """
    if script(word) not in UNSPACED:
        return False
    pieces = [*(one + other for one, other in pairwise(word)), *IDEOGRAPH.findall(word)]
    return any(piece in one for one in known if script(one) in UNSPACED for piece in pieces)


def _other_memory(asked: Asked) -> str:
    """What to ask oneself where the notes have nothing near to the words of the question."""
    return f"is this the right memory? It has {counted(len(asked.index.paths()), 'file')}"


def _misspelt(asked: Asked) -> Iterator[Cause]:
    """Words that no note has; with nearly the same ones of the notes the answer is as wanted."""
    known = asked.vocabulary
    if not asked.deep or len(asked.question.split()) >= MANY_WORDS:
        return  # a search without a wanted file would take any other answer for a better one
    unknown = [one for one in replaceable(asked.question) if one.lower() not in known]
    meant = asked.own or known  # a word that only another note has would help by accident
    alike = {one: _misspelt_for(one, meant) for one in unknown if not _is_a_word(one, asked)}
    for name in unknown_name(asked):
        alike[name] += _misremembered_for(name, meant)
    nearest = {one: some for one, some in alike.items() if some}
    better = asked.first_that_works(_with_replacements(asked.question, nearest)) if nearest else ""
    if better:
        asked_with = {*unicode_words(better)}
        used = {one: next((word for word in some if word in asked_with), "") for one, some in nearest.items()}
        needed = _needed({one: word for one, word in used.items() if word}, asked)
        better = _with(asked.question, needed)
        yield asked.cause(
            f"no note has {', '.join(needed)}; the notes have {', '.join(needed.values())}",
            better,
            f"{len(known):,} words of the notes were looked at; “{short(better)}” {asked.outcome}",
        )


def _needed(others: dict[str, str], asked: Asked) -> dict[str, str]:
    """The fewest of some replacements with which the question works: one after another is left out."""
    for word in list(others):
        fewer = {one: other for one, other in others.items() if one != word}
        if fewer and asked.first_that_works(iter([_with(asked.question, fewer)])):
            others = fewer
    return others


def _is_a_word(word: str, asked: Asked) -> bool:
    """Whether the local model has a word in one piece: a misspelt one comes apart into several."""
    embedder = getattr(innermost(asked.index), "embedder", None)
    return isinstance(embedder, LocalEmbedder) and word not in NUMBERS_IN_WORDS and embedder.knows(word)


def _misspelt_for(word: str, known: Counter[str]) -> list[str]:
    """The words of the notes for which a word may stand: the same number, or the same word misspelt.

    None is a word that only has another ending.
    """
    small = word.lower()
    if small in NUMBERS_IN_WORDS:
        other = NUMBERS_IN_WORDS[small]
        return [other] if other in known else []
    some = spelled_alike(word, known) if word.isalpha() else []
    most = 1 if len(small) < LONG_WORD else 2
    return [
        one
        for one in some
        if not stems(one) & stems(small) and (sound(one) == sound(small) or slips(small, one) <= most)
    ]


def unknown_name(asked: Asked) -> list[str]:
    """The one rare word of a question that no note has, with any ending; empty if it has none or several.

    A word that the model has in one piece is not rare.
    """
    known = asked.vocabulary
    content = content_words(asked)
    rare = [one for one in content if one.lower() not in known and not _is_a_word(one, asked)]
    theirs = {stem for one in known for stem in stems(one)} if len(rare) == 1 else set()
    return [
        one
        for one in rare
        if len(one) >= NAME and one.isalpha() and theirs and not theirs & stems(one.lower())
    ]


def _misremembered_for(name: str, known: Counter[str]) -> list[str]:
    """The words of the notes two slips from a name, with its first letter: the nearest and rarest first."""
    small = name.lower()
    begin_so = [one for one in known if one[0] == small[0] and one.isalpha()]
    away = {one: slips(small, one) for one in begin_so if abs(len(one) - len(small)) <= 2}
    return sorted((one for one in away if away[one] <= 2), key=lambda one: (away[one], known[one], one))


def _inflected(asked: Asked) -> Iterator[Cause]:
    """Words that the notes have with other endings alone; with these endings the answer is as wanted."""
    known = asked.vocabulary
    compares_words = any(isinstance(stage, QueryLeg) for stage in asked.pipeline.stages)
    if not asked.deep or not compares_words or len(asked.question.split()) >= MANY_WORDS:
        return
    content = [one for one in replaceable(asked.question) if one.lower() not in {*STOP_WORDS, *known}]
    alike = {one: [word for word in known if stems(word) & stems(one.lower())] for one in content}
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
    words = [one for one in replaceable(asked.question) if one.lower() not in STOP_WORDS]
    unknown = [one for one in words if not is_near(one.lower(), asked.vocabulary)]
    others = {_with(asked.question, {one: heading}): one for one in unknown}
    better = asked.first_that_works(iter(others))
    beside = f"{asked.question} {heading}"  # where this works, too, the word is not at fault
    if better and not asked.first_that_works(iter([beside])):
        yield asked.cause(
            f"no note has “{others[better]}”; the heading of the wanted note is “{short(heading)}”", better
        )


LACKS = "the file has none of these words of the question"


def lacks_words(asked: Asked) -> list[Cause]:
    """Whether the wanted file has no word of content of the question, nor one that begins like it."""
    words = content_words(asked)
    asked_for = [*words, *NUMBER.findall(asked.question)]
    if not words or any(is_near(one.lower(), asked.own) or _has_pieces(one, asked.own) for one in asked_for):
        return []
    says = f"{LACKS}: {', '.join(words[:6])}"
    repair = "write them into the file, or ask with words that it has"
    looked = f"{counted(len(asked.own), 'word')} of the file were looked at"
    return [Cause(("note",), says, repair, looked, verified=False, certain=True)]


SEVERAL = re.compile(rf"(?:[?,;]\s*(?:and\s+)?|\s+and\s+)(?=(?:{ASKS})\b)", re.IGNORECASE)


def _several(asked: Asked) -> Iterator[Cause]:
    """Several questions in one: each alone is tried."""
    parts = SEVERAL.split(asked.question) if asked.deep else []
    better = asked.first_that_works(iter(parts)) if len(parts) > 1 else ""
    if better:
        yield asked.cause(_several_things(parts), better, f"“{short(better)}” alone {asked.outcome}")


def _several_things(parts: Sequence[str]) -> str:
    return f"the question asks {counted(len(parts), 'thing')} at once, and one answer has to serve them all"


def _instead_of(word: str, asked: Asked) -> Iterator[str]:
    """What the notes have in place of a word: what it abbreviates, a near spelling, words of near meaning."""
    spelled = spelled_alike if asked.deep or len(word) >= TELLING else sounds_alike
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
