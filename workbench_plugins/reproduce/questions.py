"""Reads what was asked: from labels, code, addresses, quotations, lists and tables of a report.

A quotation counts where the words right before it or after it say that it was asked. A log line, an answer,
the name of a file or a placeholder is no question. What no rule is sure of is a candidate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from urllib.parse import quote, unquote_plus

from workbench.errors import InputError
from workbench.retrieval.query import check_question, unicode_words
from workbench.stop_words import STOP_WORDS
from workbench_plugins.reproduce.facts import Fact
from workbench_plugins.reproduce.pasted import Line
from workbench_plugins.reproduce.places import LONGEST_ANSWER, PATH, aside, fact
from workbench_plugins.reproduce.report_patterns import WORDS, form, pattern
from workbench_plugins.reproduce.verdict_facts import number, tables

MOST_OF_A_KIND = 5
LABELLED, CODE, PROSE, DOUBTFUL = 1, 2, 4, 7
"""How sure a source is; smaller is surer."""
SURE, ASIDE = 6, 6
"""Ranks from which on a question is a candidate, and of those that stand in a section on what should be."""
COMMENTS = ("#", "//", "--")
"""What begins a comment in code, which says what the next line does."""
FOLLOWING = 4
"""Lines after a question in which its outcome may stand."""
MARKS = " \t*_`\"'“”„«»「」『』"
SENTENCES = re.compile(r"[.!?。！？]\s+\S|[。！？]\S")
"""Where a second sentence begins: below a heading such as *Question*, a text is not what was searched for."""
ITEM = re.compile(
    r"([-*+•]\s+)?(?:[\w ]{1,30}[:：]\s*)?[*_]{0,2}([\"'“`].{2,200}?[\"'”`])[*_]{0,2}(\W.{0,400})?"
)
"""A line that is a quotation, perhaps of a list, with what follows it."""
ARROWS, SHELLS = ("→", "->", "=>"), ("bash", "sh", "shell", "console", "zsh")
WORD, GAP, SENTENCE_END = re.compile(r"[ei]\.g?\.?e?\.?(?!\w)|[\w’']+"), " \t:,*_()/-", re.compile(r"[.!?。]")
"""A word before a quotation, the signs that may stand between two of them, and what ends a sentence."""
BETWEEN, LEADS = (frozenset(WORDS[one].split()) for one in ("between_asks", "leads"))
"""The words that may stand between a verb and what was asked, and those that lead to it over other words."""
BEFORE = 120
"""Characters before a quotation that may say that it was asked."""

Said = tuple[int, Line, str]
"""What may be a question: how sure it is, its line, and its text."""


@dataclass(frozen=True)
class Asked:
    """What may be a question: its rank (smaller is surer), its line, its span in the line, its words."""

    rank: int
    line: Line
    span: tuple[int, int]
    text: str


def questions_of(lines: Sequence[Line]) -> tuple[list[Fact], list[Fact]]:
    """The questions with what became of them, and what may be one.

    A question whose answer only seems right is one that works beside a question that does not.
    """
    asked = sorted(_found(lines).values(), key=lambda one: (one.rank, one.line.number))
    if asked and asked[0].rank == ASIDE:
        asked = [replace(one, rank=PROSE) if one.rank == ASIDE else one for one in asked]
    found = [one for one in asked if one.rank < SURE and not _inside(one, asked)]
    sure = list({(one.line.number, one.text): one for one in reversed(found)}.values())[::-1]
    judged = [(one, _outcome(lines, asked, one)) for one in sure]
    judged.sort(key=lambda pair: (pair[0].rank, pair[1] != "fails", pair[0].line.number))
    contrast = any(outcome in ("fails", "") for _, outcome in judged)
    facts = []
    for one, outcome in judged:
        works = outcome == "works" or (outcome == "seems to work" and contrast)
        kind, name = ("question that works", "works") if works else ("question", outcome)
        facts.append(fact(kind, one.line, one.span, one.text, name if name in ("works", "fails") else ""))
    less = [fact("question", one.line, one.span, one.text) for one in asked if one.rank >= SURE]
    return facts[: 2 * MOST_OF_A_KIND], less[:MOST_OF_A_KIND]


def _found(lines: Sequence[Line]) -> dict[tuple[int, int, str], Asked]:
    """What may be a question, by its place, each as sure as its surest source."""
    found: dict[tuple[int, int, str], Asked] = {}
    called = {name for one in lines for name in form("called").findall(one.text)}
    for rank, line, said in _sources(lines):
        text = _clean(said)
        forms = (text, text.replace(" ", "+"), quote(text)) if text else ()
        written = next((one for one in forms if one in line.text), "")
        if not written:
            continue
        name = rank > CODE and (text in called or form("name").search(text) is not None)
        for match in re.finditer(re.escape(written), line.text):
            before = line.text[: match.start()]
            doubtful = name and not form("searched").search(before)
            doubtful |= not line.code and pattern(WORDS["aside"]["asks_you"]).search(before) is not None
            sure = DOUBTFUL if doubtful else max(rank, ASIDE) if aside(line) else rank
            one = Asked(sure, line, match.span(), text)
            known = found.setdefault((line.number, match.start(), text), one)
            if one.rank < known.rank:
                found[line.number, match.start(), text] = one
    return found


def _inside(one: Asked, asked: Sequence[Asked]) -> bool:
    """Whether another question has these words at their place, and more."""
    first, last = one.span
    return any(
        other.rank < SURE
        and other.line is one.line
        and other.span != one.span
        and other.span[0] <= first
        and last <= other.span[1]
        for other in asked
    )


# Sources


def _sources(lines: Sequence[Line]) -> Iterator[Said]:
    yield from _labelled(lines)
    yield from _in_tables(lines)
    log, sizes = pattern(WORDS["aside"]["log"]), Counter(one.block for one in lines)
    listing = ""  # the line above, such as "Tested queries:"
    for above, one in pairwise((lines[0], *lines)):
        logged = log.match(one.text) is not None
        if one.code:
            written = _written(_whole_call(above, one), shell=not logged and one.info in SHELLS)
            yield from ((PROSE + 1 if logged else CODE, one, text) for text in written)
            lone = not above.code and sizes[one.block] == 1 and not form("no_result").search(one.text)
            if lone and _announces(listing):
                yield CODE + 1, one, one.text
        else:
            lead = above.text if not above.code and above.number + 1 == one.number else ""
            yield from ((rank, one, text) for rank, text in _in_prose(one.text, lead))
        if (found := ITEM.fullmatch(one.text)) and (found[1] or (_announces(listing) and not found[3])):
            sure = _announces(listing, loosely=True) or (found[3] or "").lstrip().startswith(ARROWS)
            yield (PROSE + 1 if sure else DOUBTFUL), one, found[2]
        elif not one.text.startswith(("-", "*", "+")):
            listing = one.text


def _labelled(lines: Sequence[Line]) -> Iterator[Said]:
    """What stands behind a label such as *Query:*, and below a heading that is one."""
    label, log = WORDS["question"], pattern(WORDS["aside"]["log"])
    named = pattern(rf"(?:[-*+>]\s+|\d+\.\s+)?[^\w\[]{{0,3}}(?:{label})\W{{0,3}}\s*[:：]\s*(.+)")
    section, turn, reply = pattern(rf"\W*(?:{label})\W*"), pattern(WORDS["turn"]), pattern(WORDS["reply"])
    for above, one, below in zip((lines[0], *lines), lines, (*lines[1:], lines[-1]), strict=False):
        if log.match(one.text):
            continue
        if not one.title and (found := named.fullmatch(one.text)) and found[1][0] not in "[{(":
            quoted = form("quoted").search(found[1]) if _tells_of_a_quotation(found[1]) else None
            yield LABELLED, one, _quoted_words(quoted) if quoted else form("after").split(found[1])[0]
        elif (found := turn.fullmatch(one.text)) and (reply.fullmatch(below.text) or found[1].endswith("?")):
            yield CODE, one, found[1]
        first = one.heading != above.heading and len(one.text) <= LONGEST_ANSWER
        told = SENTENCES.search(one.text) or _tells_of_a_quotation(one.text)
        if first and section.fullmatch(one.heading) and not told:
            yield LABELLED, one, one.text


def _in_tables(lines: Sequence[Line]) -> Iterator[Said]:
    """The cells of columns that are named as a question is."""
    section, by_number = pattern(rf"\W*(?:{WORDS['question']})\W*"), {one.number: one for one in lines}
    for table in tables(lines):
        for column in (nth for nth, head in enumerate(table.header) if section.fullmatch(head)):
            for line, row in table.rows:
                if number(row[column]) is None:
                    yield LABELLED, by_number[line], row[column]


def _in_prose(text: str, above: str = "") -> Iterator[tuple[int, str]]:
    """What a line of prose says was asked, with how sure that is; it may go on with the line `above`."""
    yield from ((PROSE, one) for one in _written(text))
    yield from ((PROSE, one) for expression in WORDS["said"] for one in pattern(expression).findall(text))
    after, counted, answered, named = (
        pattern(WORDS[one]) for one in ("asked", "counted", "answered", "named")
    )
    ends, chained = 0, False
    for found in form("quoted").finditer(text):
        before, ends = text[ends : found.start()][-BEFORE:], found.end()
        if not chained and not text[: found.start()].strip(MARKS):
            before = f"{above} "[-BEFORE:]
        said, code, bold = _quoted_words(found), found["code"] is not None, found["bold"] is not None
        chained = chained and pattern(WORDS["chain"]).fullmatch(before) is not None
        if code and (inside := list(_written(said))):
            yield from ((CODE, one) for one in inside)
        elif named.match(text, ends):
            chained = False
        elif after.match(text, ends):
            yield CODE, said
        elif not code and counted.match(text, ends):
            yield PROSE, said
        elif chained or _asks(before, direct=not bold or said[0] in MARKS):
            chained = True
            yield PROSE + 1, said
        elif not code and answered.match(text, ends):
            yield (CODE if len(said.split()) > 2 else DOUBTFUL), said
        elif not bold and said.rstrip().endswith(("?", "？")):
            *_, verb = ["", *pattern(WORDS["asks"]).split(before)]
            asked = verb != before and not SENTENCE_END.search(verb)
            yield (PROSE + 1 if asked else DOUBTFUL), said


def _asks(before: str, direct: bool = True) -> bool:
    """Whether the words before a quotation say that it was asked; `direct` if a verb alone says so."""
    verbs, end, led = WORDS["asks"], len(before), False
    if pattern(rf"(?:{WORDS['asks_elsewhere']})[^.!?=。]{{0,30}}$").search(before):
        return True
    ends_with_one = pattern(rf"(?:{verbs})\W*$")
    for word in reversed(list(WORD.finditer(before))):
        between = before[word.end() : end]
        if between.strip(GAP):
            return False
        if ends_with_one.search(before[:end]):
            return direct or end < len(before)
        said = word[0].lower()
        if said not in BETWEEN or (said in ("is", "was") and before[: word.start()].endswith("s ")):
            break
        led |= said in LEADS
        end = word.start()
    *_, asked = [None, *pattern(verbs).finditer(before[:end])]
    gap = before[asked.end() : end] if asked else "."
    return led and not SENTENCE_END.search(gap) and not pattern(WORDS["came"]).search(gap)


def _announces(text: str, loosely: bool = False) -> bool:
    """Whether a line announces that the next one is a question, or, loosely, that a list of them follows."""
    listed = loosely and pattern(WORDS["listed"]).search(text) is not None
    return bool(pattern(WORDS["announces"]).search(text)) and (listed or _asks(text.rstrip(":： ")[-BEFORE:]))


# Forms


def _written(text: str, shell: bool = False) -> Iterator[str]:
    """The questions that code has in quotation marks, that an address has, or a command of a shell."""
    if (shell or text.startswith(("$", "/"))) and (found := pattern(WORDS["command"]).fullmatch(text)):
        yield found[1]
    text = re.sub(r"\\(?=[\"'])", "", text)
    for expression in WORDS["written"]:
        for found in pattern(expression).finditer(text):
            mark, *_, said = found.groups()
            whole = said == said.strip() and (mark in ("", "'") or mark not in said)  # not between quotations
            if whole and not form("compiled").match(text, found.end()):
                yield said
    addresses = pattern(WORDS["address"]).finditer(text)
    yield from (unquote_plus(next(filter(None, one.groups()))) for one in addresses)


def _whole_call(above: Line, line: Line) -> str:
    """A line of code, with the one above it where a bracket opened there."""
    goes_on = above.block == line.block and above.text.endswith(("(", "=", "[", "{", '"user",'))
    return f"{above.text} {line.text}" if goes_on else line.text


def _quoted_words(quotation: re.Match[str]) -> str:
    """The words between the marks of a quotation."""
    return next(one for one in quotation.groupdict().values() if one)


def _tells_of_a_quotation(text: str) -> bool:
    """Whether a line has words before a quotation: it speaks of what was asked, and is not it."""
    quoted = form("quoted").search(text)
    return quoted is not None and any(map(str.isalnum, text[: quoted.start()]))


def _clean(text: str) -> str:
    """A question without its marks; empty for what is none, such as a placeholder or a key of JSON."""
    if re.match(r"""["']\w+["']\s*:""", text):
        return ""
    begun = re.match(r"""[\s*_]*(?:"([^"]{2,})"|`([^`]{2,})`|“([^”]{2,})”|'([^']{2,})'(?=\W|$))""", text)
    text = next(filter(None, begun.groups())) if begun else re.sub(r"^[-*+•]\s+", "", text)
    ends = (
        MARKS if text.lstrip().startswith(("*", "_")) else MARKS.replace("*", "")
    )  # it may ask for a prefix
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


def _outcome(lines: Sequence[Line], asked: Sequence[Asked], one: Asked) -> str:
    """What follows a question up to the next one: *fails*, *works*, *seems to work*, or empty."""
    fails, works, surely = (pattern(WORDS["outcome"][name]) for name in ("fails", "works", "surely"))
    line, end, others = one.line, one.span[1], {each.line.number for each in asked}
    later = min((each.span[0] for each in asked if each.line is line and each.span[0] >= end), default=None)
    texts, number_ = [line.text[end:later]], lines.index(line)
    above = (
        each
        for each in reversed(lines[max(0, number_ - FOLLOWING) : number_])
        if line.code and each.block == line.block
    )
    for each in above:
        if each.number in others:
            break
        if each.text.startswith(COMMENTS):
            texts.append(each.text)
    own = len(texts)
    for each in lines[number_ + 1 : number_ + 1 + FOLLOWING] if later is None else ():
        if each.number in others or aside(each) or each.heading != line.heading:
            break
        texts.append(each.text)
    for nth, text in enumerate(texts):
        bad, good = fails.search(text), works.search(text)
        if bad and (good is None or bad.start() < good.start()):
            return "fails"
        if good:
            return "works" if nth < own and surely.search(text) else "seems to work"
    return ""
