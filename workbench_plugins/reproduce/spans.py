"""Spans of a report that may be what was asked, each with the signs that speak for it or against it.

A span is a quotation, the value of a label or a key, words after a verb of searching, a command or an
address. Each sign has a weight, which `benchmarks.proposing` fits to labelled reports. Their sum says how
sure a span is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from urllib.parse import unquote_plus

from workbench.errors import InputError
from workbench.retrieval.query import check_question, unicode_words
from workbench.stop_words import STOP_WORDS
from workbench_plugins.reproduce.pasted import Line
from workbench_plugins.reproduce.places import LONGEST_ANSWER, PATH
from workbench_plugins.reproduce.report_patterns import WORDS, form, pattern
from workbench_plugins.reproduce.verdict_facts import number, tables

BEFORE, LONGEST_BEFORE = 120, 400
"""Characters before a span that may say that it was asked, in prose and in code."""
MARKS = " \t*_`\"'“”„«»「」『』"
SENTENCES = re.compile(r"[.!?。！？]\s+\S|[。！？]\S")
"""Where a second sentence begins: below a heading such as *Question*, a text is not what was searched for."""
KEY = re.compile(r"""["'][\w.]+["']\s*:""")
"""A key of JSON, which begins no item of a list."""
ITEM = re.compile(r"\W*(?:[\w ]{1,30}[:：]\W*)?")
"""What may stand before a quotation that is an item of a list."""
WORD, GAP, SENTENCE_END = re.compile(r"[ei]\.g?\.?e?\.?(?!\w)|[\w’']+"), " \t:,*_()/-", re.compile(r"[.!?。]")
"""A word before a quotation, the signs that may stand between two of them, and what ends a sentence."""
BETWEEN, LEADS = (frozenset(WORDS[one].split()) for one in ("between_asks", "leads"))
"""The words that may stand between a verb and what was asked, and those that lead to it over other words."""
SPEECH = ("double", "curly", "corner", "guillemet", "german")
"""The marks of what somebody said."""
OVERRULING, OVERRULED = {"named", "mail"}, {"verb", "led", "answered"}
"""Signs that say what else a span is, and those that then say nothing."""


@dataclass(frozen=True)
class Span:
    """What may be a question: its line, its place in it, its words, and the signs for and against it."""

    line: Line
    place: tuple[int, int]
    text: str
    signs: frozenset[str] = field(default=frozenset())

    @property
    def weight(self) -> float:
        """How sure it is: above 0, it is a question."""
        weights: dict[str, float] = WORDS["weights"]
        whole = weights["bias"] + sum(weights.get(one, 0.0) for one in self.signs)
        return round(whole, 3)  # the order of a set must not decide what is above 0


Said = tuple[Line, int, int, str, set[str]]
"""What may be a question: its line, where it begins and ends with its marks, its words, and its signs."""


def spans_of(lines: Sequence[Line]) -> list[Span]:
    """What may be a question, by its place, each with all its signs."""
    found: dict[tuple[int, int, str], Span] = {}
    called = {name for one in lines for name in form("called").findall(one.text)}
    everything, title = _words("\n".join(one.text for one in lines)), lines[0].text.lower()
    for line, first, last, said, signs in _said(lines):
        encoded = "address" in signs
        text = said if encoded and _clean(said) else _clean(said)
        start = first if encoded else line.text.find(text, first, last)
        length = last - first if encoded else len(text)
        if not text or start < 0:
            continue
        before = line.text[:start]
        named = text in called or form("name").search(text) or pattern(WORDS["predicate"]).match(text)
        tests = {
            "else": bool(named) and not form("searched").search(before),
            "mail": not line.code and pattern(WORDS["aside"]["asks_you"]).search(before) is not None,
            "asks": pattern(WORDS["interrogative"]).search(text) is not None and "bold" not in signs,
            "stated": pattern(WORDS["stated_text"]).search(text) is not None,
            "again": everything.count(_words(text)) > 1,
            "title": text.lower() in title,
        }
        known = found.get((line.number, start, text), Span(line, (start, start + length), text))
        signs = signs | known.signs | {name for name, holds in tests.items() if holds}
        signs = signs - OVERRULED if signs & OVERRULING else signs
        found[line.number, start, text] = replace(known, signs=frozenset(signs))
    return list(found.values())


def _said(lines: Sequence[Line]) -> Iterator[Said]:
    yield from _labelled(lines)
    yield from _in_tables(lines)
    sizes, listing = Counter(one.block for one in lines), ""
    for above, one in pairwise((lines[0], *lines)):
        yield from _quoted(one, above)
        yield from _written(one)
        if not one.code:
            yield from _bare(one)
        elif sizes[one.block] == 1 and not above.code and _announces(above.text):
            yield one, 0, len(one.text), "" if form("no_result").search(one.text) else one.text, {"label"}
        if KEY.match(one.text) or not one.text.startswith(("-", "*", "+", "•", '"', "“", "`")):
            listing = one.text
        for said in _quoted(one, above) if listing != one.text and _announces(listing, loosely=True) else ():
            if ITEM.fullmatch(one.text[: said[1]]):
                yield (*said[:4], {"listed"})


def _labelled(lines: Sequence[Line]) -> Iterator[Said]:
    """What stands behind a label such as *Query:*, below a heading that is one, and in a turn of a talk."""
    label, log = WORDS["question"], pattern(WORDS["aside"]["log"])
    named = pattern(rf"(?:[-*+>]\s+|\d+\.\s+)?[^\w\[]{{0,3}}(?:{label})\W{{0,3}}\s*[:：]\s*(.+)")
    begun = pattern(rf"[^\w\[]{{0,3}}(?:{label})\W{{0,3}}\s*[:：]\W*")
    section, turn, reply = pattern(label), pattern(WORDS["turn"]), pattern(WORDS["reply"])
    for above, one, below in zip((lines[0], *lines), lines, (*lines[1:], lines[-1]), strict=False):
        if log.match(one.text):
            continue
        if not one.title and (found := named.fullmatch(one.text)) and found[1][0] not in "[{(":
            if _tells_of_a_quotation(found[1]):
                continue  # the quotation is a span of its own
            yield one, *found.span(1), form("after").split(found[1])[0], {"label"}
        elif (found := turn.fullmatch(one.text)) and (reply.fullmatch(below.text) or found[1].endswith("?")):
            asks = pattern(WORDS["question_words"]).match(found[1])
            yield one, *found.span(1), found[1], {"label" if asks else "turn"}
        told = len(one.text) > LONGEST_ANSWER or SENTENCES.search(one.text) or _tells_of_a_quotation(one.text)
        first = one.heading != above.heading and section.fullmatch(one.heading.strip(MARKS + "?？:："))
        if first and pattern(WORDS["tells"]).search(one.text):
            continue
        if (first or (begun.fullmatch(above.text) and not one.code)) and not told:
            yield one, 0, len(one.text), one.text, {"label"}


def _in_tables(lines: Sequence[Line]) -> Iterator[Said]:
    """The cells of columns that are named as a question is."""
    section = pattern(rf"\W*(?:{WORDS['question']}|{WORDS['column']})\W*")
    by_number = {one.number: one for one in lines}
    for table in tables(lines):
        for column in (nth for nth, head in enumerate(table.header) if section.fullmatch(head)):
            for number_, row in table.rows:
                if number(row[column]) is None:
                    yield by_number[number_], 0, len(by_number[number_].text), row[column], {"label"}


def _quoted(line: Line, above: Line) -> Iterator[Said]:
    """The quotations of a line, in any marks, with the signs of what stands before and after each."""
    found = sorted(
        (one.start(), one.end(), one[one.lastindex or 0], kind)
        for kind, text in WORDS["quoted"].items()
        for one in re.finditer(text, line.text)
    )
    goes_on = above.text.endswith(("(", "=", "[", "{", '"user",')) if line.code else not above.code
    lead = f"{above.text} " if goes_on and above.number + 1 == line.number else ""
    end, asked = 0, False
    for first, last, said, kind in found:
        if any(one[3] in SPEECH and one[0] < first and last < one[1] for one in found):
            continue  # it is said inside of another one
        begins = not line.text[:first].strip(MARKS)
        between = line.text[end if end <= first else 0 : first]
        whole = (lead + line.text[:first]).rstrip("\\")[-LONGEST_BEFORE:]
        code = line.code or line.text.count("`", 0, first) % 2 == 1
        signs = _before(whole, code) | _after(line.text[last:])
        signs |= _asks((lead + between if begins else between)[-BEFORE:], direct=kind != "bold")
        if asked and pattern(WORDS["chain"]).fullmatch(between) and not between.strip().isupper():
            signs.add("verb")
        if begins and ("counted" in signs or ("answered" in signs and said.count(" ") > 1)):
            signs |= {"subject"} | ({"asks"} if pattern(WORDS["question_words"]).match(said) else set())
        if "example" in signs and signs & {"answered", "counted"}:
            signs.add("subject")
        if "first" in signs and " " not in said:
            signs -= {"argument", "verb"}  # the place to search in, before the question
        asked, end = bool(signs & {"verb", "led"}), max(end, last)
        signs.add(kind if kind in ("code", "bold") else "marks")
        if code or kind == "code" or said.count(" ") < 2:
            signs.discard("answered")  # a command returns something, too
        yield line, first, last, said.rstrip("\\"), signs


def _before(text: str, code: bool) -> set[str]:
    """The signs of what stands right before a quotation; a command asks in code alone."""
    found = {name for name, said in WORDS["before"].items() if pattern(f"(?:{said})$").search(text)}
    return found - {"command"} | ({"argument"} if code and "command" in found else set())


def _after(text: str) -> set[str]:
    """The signs of what stands right after a span."""
    found = {name for name, said in WORDS["after"].items() if pattern(said).match(text)}
    return found | ({"verb"} if "searched" in found else set())


def _bare(line: Line) -> Iterator[Said]:
    """Words without marks after a verb of searching or asking, up to the end of the clause."""
    for expression in WORDS["said"] if not line.title else ():
        for one in pattern(expression).finditer(line.text):
            yield line, *one.span(1), one[1], {"label"}
    for one in pattern(WORDS["bare"]).finditer(line.text):
        words = re.sub(r"^(?:the|a|an) (?=\S+$)", "", one["words"])
        signs = {"bare"} | _after(line.text[one.end("words") :]) & {"counted"}
        signs |= {"person"} if pattern(WORDS["person"]).search(line.text[: one.start()]) else set()
        signs |= {"common"} if pattern(WORDS["common"]).match(words) else set()
        signs |= {"special"} if re.search(r"\d|[A-Z]|\w-\w|[^\x00-\x7f]", words) else set()
        signs |= {"one word"} if " " not in words else set()
        signs |= {"searched for"} if pattern(WORDS["searches"]).match(one[0]) else set()
        yield line, *one.span("words"), words, signs


def _written(line: Line) -> Iterator[Said]:
    """What an address asks for, a command without quotation marks, and a line with the count of what came."""
    for one in pattern(WORDS["address"]).finditer(line.text):
        group = one.lastindex or 0
        yield line, *one.span(group), unquote_plus(one[group]), {"argument", "address"}
    found = pattern(WORDS["command"]).fullmatch(line.text)
    if found and (line.code or line.text[0] in "$/"):
        yield line, *found.span(1), found[1], {"argument"}
    for expression in WORDS["counted_lines"]:
        for one in pattern(expression).finditer(line.text):
            yield line, *one.span(1), one[1], {"label"}


def _asks(before: str, direct: bool = True) -> set[str]:
    """The signs that the words before a span say that it was asked: by a verb, or by what leads from one.

    `direct` says that a verb alone is enough, as it is not for words in bold.
    """
    verbs, end, led = WORDS["asks"], len(before), False
    if pattern(rf"(?:{WORDS['asks_elsewhere']})[^.!?=。,，、]{{0,30}}$").search(before):
        return {"verb"}
    ends_with_one = pattern(rf"(?:{verbs})\W*$")
    for word in reversed(list(WORD.finditer(before))):
        between = before[word.end() : end]
        if between.strip(GAP):
            return set()
        if ends_with_one.search(before[:end]):
            return {"verb"} if direct or end < len(before) else set()
        said = word[0].lower()
        if said not in BETWEEN or (said in ("is", "was") and before[: word.start()].endswith("s ")):
            break
        led |= said in LEADS
        end = word.start()
    *_, asked = [None, *pattern(verbs).finditer(before[:end])]
    gap = before[asked.end() : end] if asked else "."
    if SENTENCE_END.search(gap):
        return set()
    return ({"led"} if led else set()) | ({"came"} if pattern(WORDS["came"]).search(gap) else set())


def _announces(text: str, loosely: bool = False) -> bool:
    """Whether a line announces that the next one is a question, or, loosely, that a list of them follows."""
    listed = loosely and pattern(WORDS["listed"]).search(text) is not None
    asks = "verb" in _asks(text.rstrip(":： ")[-BEFORE:])
    return bool(pattern(WORDS["announces"]).search(text)) and (listed or asks)


# Forms


def _words(text: str) -> str:
    """The words of a text between blanks, to find one that is no part of another."""
    return " " + re.sub(r"\W+", " ", text.lower()).strip() + " "


def _tells_of_a_quotation(text: str) -> bool:
    """Whether a line has a quotation in it: it speaks of what was asked, and is not it."""
    return any(re.search(one, text) for name, one in WORDS["quoted"].items() if name != "bold")


def _clean(text: str) -> str:
    """A question without its marks; empty for what is none, such as a placeholder or a key of JSON."""
    text = re.sub(r"^[-*+•]\s+", "", text.strip())
    prefix = not text.startswith(("*", "_"))  # a star at its end asks for a beginning of words
    ends = MARKS.replace("*", "") if prefix else MARKS
    cleaned, bare = text.lstrip(MARKS + ".,;").rstrip(ends + ".,;"), text.strip(" *_.,;")
    if bare[-1:] in tuple("'\"`") and not bare.startswith(bare[-1]) and cleaned.count(bare[-1]) % 2:
        cleaned += bare[-1]  # it closes a quotation inside
    said = {one.lower() for one in unicode_words(cleaned)}
    if (
        len(cleaned) < 2
        or cleaned[0] in "[{("
        or form("no_question").search(cleaned)
        or (said and said <= STOP_WORDS)
        or pattern(WORDS["outcome"]["fails"]).fullmatch(cleaned)
        or pattern(WORDS["model"]).fullmatch(cleaned)
        or PATH.fullmatch(cleaned)
    ):
        return ""
    try:
        return check_question(cleaned)
    except InputError:
        return ""
