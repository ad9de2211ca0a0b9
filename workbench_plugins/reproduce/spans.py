"""Spans of a report that may be what was asked, each with the signs that speak for it or against it.

A span is a quotation, a cell of a table, or what stands behind a label or a colon. Each sign has a weight,
which `benchmarks.proposing` fits to labelled reports. Their sum says how sure a span is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from workbench.errors import InputError
from workbench.retrieval.query import check_question, unicode_words
from workbench.stop_words import STOP_WORDS
from workbench_plugins.reproduce.facts import PATH
from workbench_plugins.reproduce.pasted import Line
from workbench_plugins.reproduce.report_patterns import WORDS, form, pattern
from workbench_plugins.reproduce.verdict_facts import number, tables

BEFORE, LONGEST_BEFORE = 120, 400
"""Characters before a span that may say that it was asked, in prose and in code."""
MARKS = " \t*_`\"'“”„«»「」『』"
SENTENCES = re.compile(r"[.!?。！？]\s+\S|[。！？]\S")
"""Where a second sentence begins."""
ITEMS, ITEM = ("-", "*", "+", "•"), re.compile(r"\W*(?:[\w ]{1,30}[:：]\W*)?")
"""What begins an item of a list, and what may stand before a quotation that is one."""
OUTCOMES: Sequence[str] = [*WORDS["outcome"].values(), *WORDS["happened"].values()]
PLAIN_BLOCKS = ("", "text", "txt", "plain", "plaintext")
REMARK = re.compile(r"\([^()]*\)")
WORD, GAP, SENTENCE_END = re.compile(r"[ei]\.g?\.?e?\.?(?!\w)|[\w’']+"), " \t:,*_()/-", re.compile(r"[.!?。]")
"""A word before a quotation, the signs that may stand between two of them, and what ends a sentence."""
BETWEEN, LEADS = (frozenset(WORDS[one].split()) for one in ("between_asks", "leads"))
"""The words that may stand between a verb and what was asked, and those that lead to it over other words."""


def _bare() -> str:
    """The expression for words without marks behind a verb: six at most, up to what ends them."""
    said: dict[str, str] = WORDS["bare"]
    skipped, no_question, ends = ("|".join(said[one].split()) for one in ("skipped", "no_question", "ends"))
    signs = r"\s,;:!?()\[\]{}\"“”„«»「」`"
    word = rf"[^{signs}]*[^{signs}.]"  # a dot stands inside, as in settings.py
    return (
        rf"\b(?:{said['verbs']})\s+(?:(?:{skipped})\s+)*+(?!(?:{no_question})\b)"
        rf"((?:{word}\s+){{0,5}}?{word})"
        rf"(?=[.,;:!?()]*(?:\s*$|[.,;:!?]\s|\s+[(\[–—-]|\s+(?:{ends})\b))"
    )


BARE = _bare()


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
    everything, title = _words("\n".join(one.text for one in lines)), lines[0].text.lower()
    for line, first, last, said, signs in _said(lines):
        text = _clean(said)
        start = line.text.find(text, first, last)
        if not text or start < 0:
            continue
        tests = {
            "asks": pattern(WORDS["interrogative"]).search(text) is not None,
            "stated": pattern(WORDS["states"]).search(text) is not None,
            "again": everything.count(_words(text)) > 1,
            "title": text.lower() in title,
        }
        known = found.get((line.number, start, text), Span(line, (start, start + len(text)), text))
        signs = signs | known.signs | {name for name, holds in tests.items() if holds}
        found[line.number, start, text] = replace(known, signs=frozenset(signs))
    return list(found.values())


def _said(lines: Sequence[Line]) -> Iterator[Said]:
    yield from _labelled(lines)
    yield from _in_tables(lines)
    yield from _in_blocks(lines)
    listed = False
    for above, one in pairwise((lines[0], *lines)):
        is_item = one.text.startswith(ITEMS)
        for said in _quoted(one, above):
            yield said
            if listed and is_item and ITEM.fullmatch(one.text[: said[1]]):
                yield (*said[:4], {"listed"})
        if not one.code and not one.title:
            yield from _said_plainly(one)
        if not is_item:
            listed = one.text.endswith((":", "：")) and bool(pattern(WORDS["listed"]).search(one.text))


def _labelled(lines: Sequence[Line]) -> Iterator[Said]:
    """What stands behind a label such as *Query:*, and below a heading or a line that is one."""
    label = WORDS["question"]
    named = pattern(rf"(?:[-*+>]\s+|\d+\.\s+)?[^\w\[]{{0,3}}(?:{label})\W{{0,3}}\s*[:：]\s*(.+)")
    begun = pattern(rf"[^\w\[]{{0,3}}(?:{label})\W{{0,3}}\s*[:：]\W*")
    section = pattern(label)
    for above, one in pairwise((lines[0], *lines)):
        found = None if one.title else named.fullmatch(one.text)
        if found and not _tells(found[1]):
            yield one, *found.span(1), found[1], {"label"}
        first = one.heading != above.heading and section.fullmatch(one.heading.strip(MARKS + "?？:："))
        if (first or (begun.fullmatch(above.text) and not one.code)) and not _tells(one.text):
            yield one, 0, len(one.text), one.text, {"label"}


def _in_tables(lines: Sequence[Line]) -> Iterator[Said]:
    """The cells of columns that are named as a question is."""
    section = pattern(rf"\W*(?:{WORDS['question']}|{WORDS['column']})\W*")
    by_number = {one.number: one for one in lines}
    for table in tables(lines):
        for column in (nth for nth, head in enumerate(table.header) if section.fullmatch(head)):
            for nth_line, row in table.rows:
                line = by_number[nth_line]
                for said in () if number(row[column]) is not None else _of_cell(row[column]):
                    yield line, 0, len(line.text), said, {"label"}


def _in_blocks(lines: Sequence[Line]) -> Iterator[Said]:
    """The only line of a block of no language, where the line above it ends with a verb and a colon."""
    sizes = Counter(one.block for one in lines)
    for above, one in pairwise(lines):
        alone = one.code and sizes[one.block] == 1 and one.info in PLAIN_BLOCKS
        if alone and not above.code and above.text.endswith((":", "：")) and _asks(above.text[-BEFORE:]):
            yield one, 0, len(one.text), one.text, {"verb", "code"}


def _of_cell(cell: str) -> Sequence[str]:
    """The quotations of a cell that has no other words, remarks in brackets apart, or else the cell."""
    found = _quotations(cell)
    rest = REMARK.sub("", cell)
    for one, _ in found:
        rest = rest.replace(one[0], "")
    alone = found and not any(one.isalnum() for one in rest)
    return [one[one.lastindex or 0] for one, _ in found] if alone else [cell]


def _quotations(text: str) -> list[tuple[re.Match[str], str]]:
    """The quotations of a text by their places, each with its kind; the last group has the words."""
    found = ((one, kind) for kind, said in WORDS["quoted"].items() for one in re.finditer(said, text))
    return sorted(found, key=lambda one: (one[0].span(), one[1]))


def _quoted(line: Line, above: Line) -> Iterator[Said]:
    """The quotations of a line, in any marks, with the signs of what stands before and after each."""
    goes_on = not line.code and not above.code and above.number + 1 == line.number
    lead, end = f"{above.text} " if goes_on else "", 0
    for quotation, kind in _quotations(line.text):
        (first, last), said = quotation.span(), quotation[quotation.lastindex or 0]
        begins = not line.text[:first].strip(MARKS)
        if kind == "emphasis" and (begins or any(pattern(one).search(said) for one in OUTCOMES)):
            continue  # a label or a heading, or what came of a question
        between = line.text[end if end <= first else 0 : first]
        whole = (lead + line.text[:first])[-LONGEST_BEFORE:]
        code = line.code or line.text.count("`", 0, first) % 2 == 1
        signs = {name for name, words in WORDS["before"].items() if pattern(f"(?:{words})$").search(whole)}
        signs |= _after(line, last)
        signs |= _asks((lead + between if begins else between)[-BEFORE:])
        end = max(end, last)
        signs.add(kind if kind in ("code", "emphasis") else "marks")
        if code or kind == "code" or said.count(" ") < 2:
            signs.discard("answered")  # a command returns something, too
        yield line, first, last, said, signs


def _said_plainly(line: Line) -> Iterator[Said]:
    """Words without marks: a question behind a colon or the word *like*, and what stands behind a verb."""
    for one in pattern(WORDS["said"]).finditer(line.text):
        yield line, *one.span(1), one[1], {"label"}
    for one in pattern(BARE).finditer(line.text):
        is_name = all(word[0].isupper() or any(map(str.isdigit, word)) for word in one[1].split())
        yield line, *one.span(1), one[1], {"bare", *(_after(line, one.end(1)) if is_name else ())}


def _after(line: Line, end: int) -> set[str]:
    """The signs of what stands right behind a place of a line."""
    return {name for name, said in WORDS["after"].items() if pattern(said).match(line.text[end:])}


def _asks(before: str) -> set[str]:
    """The signs that the words before a span say that it was asked: by a verb, or by what leads from one."""
    verbs, end, led = WORDS["asks"], len(before), False
    if pattern(rf"(?:{WORDS['asks_elsewhere']})[^.!?=。,，、]{{0,30}}$").search(before):
        return {"verb"}
    ends_with_one = pattern(rf"(?:{verbs})\W*$")
    for word in reversed(list(WORD.finditer(before))):
        between = before[word.end() : end]
        if between.strip(GAP):
            return set()
        if ends_with_one.search(before[:end]):
            return {"verb"}
        said = word[0].lower()
        if said not in BETWEEN:
            break
        led |= said in LEADS
        end = word.start()
    *_, asked = [None, *pattern(verbs).finditer(before[:end])]
    if led and asked and not SENTENCE_END.search(before[asked.end() : end]):
        return {"led"}
    return set()


def _words(text: str) -> str:
    """The words of a text between blanks, to find one that is no part of another."""
    return " " + re.sub(r"\W+", " ", text.lower()).strip() + " "


def _tells(text: str) -> bool:
    """Whether a text has two sentences, or a quotation: it speaks of what was asked, and is not it."""
    return any(re.search(one, text) for one in (SENTENCES, *WORDS["quoted"].values()))


def _clean(text: str) -> str:
    """A question without its marks; empty for what is none, such as a placeholder or a key of JSON."""
    text = re.sub(r"^[-*+•]\s+", "", text.strip())
    cleaned = text.strip(MARKS + ".,;")
    setting = (pattern(rf"{name}\W{{1,3}}\d[\d.]*") for name in WORDS["settings"].values())
    said = {one.lower() for one in unicode_words(cleaned)}
    if (
        len(cleaned) < 2
        or form("no_question").search(cleaned)
        or (said and said <= STOP_WORDS)
        or PATH.fullmatch(cleaned)
        or any(one.fullmatch(cleaned) for one in setting)
    ):
        return ""
    try:
        return check_question(cleaned)
    except InputError:
        return ""
