"""Reads a bug report in anybody's own words: a list of facts, each with its place in the report.

A report is Markdown: plain text, an issue form as GitHub renders it, or a file of the workbench's template.
Nothing of it is run, no link is followed, and what looks like a secret is masked before anything is read.
Nothing without a place is a fact. What no rule is sure of is a candidate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, takewhile
from typing import Any
from urllib.parse import quote, unquote_plus

from workbench.errors import InputError
from workbench.retrieval.query import check_question, unicode_words
from workbench.safe_text import one_line
from workbench.stop_words import STOP_WORDS
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.history import LINES
from workbench_plugins.cases.model import CaseNote
from workbench_plugins.reproduce.facts import Fact, Report, System
from workbench_plugins.reproduce.pasted import Line, lines_of
from workbench_plugins.reproduce.report_patterns import WORDS, form, pattern
from workbench_plugins.reproduce.verdict_facts import Scored, number, results_of, tables

MOST_NOTES, MOST_OF_A_KIND = 40, 5
LONGEST_ANSWER = 200
"""Characters of the answer below a form's heading that are read."""
COMMENTS = ("#", "//", "--")
"""What begins a comment in code, which says what the next line does."""
FOLLOWING = 4
"""Lines after a question in which its outcome may stand."""

ENDING = r"\.(?:md|markdown|txt|jsonl?)"
PATH = re.compile(rf"(?<![\w/.@:-])((?:[\w@-][\w@.-]*/){{0,6}}[\w@-][\w@.-]{{0,80}}{ENDING})\b")
KEYS = r"""["']?(?:content|text|memory|page_content|doc|document|body|fact|passage|chunk|note)s?["']?"""
CONTENT = re.compile(rf"""{KEYS}\s*[:=]\s*["']([^"'\n]{{8,400}})["']""")
CONTENTS = re.compile(rf"""(?:{KEYS}\s*[:=]\s*|add_texts\(|from_texts\()\[([^\]\n]{{8,2000}})\]""")
MARKS = " \t*_`\"'“”„«»「」『』"
SENTENCES = re.compile(r"[.!?。！？]\s+\S|[。！？]\S")
"""Where a second sentence begins: below a heading such as *Question*, a text is not what was searched for."""
SURE = 6
"""Ranks of questions that are facts; from here on they are candidates."""


def read_report(text: str) -> Report:
    """What a report says. Raises InputError for a text without a word."""
    lines = lines_of(text)
    if not any(one.text.strip("#->*` ") for one in lines):
        raise InputError("The report has no text.", "Paste what was reported, with the question.")
    results = results_of(lines)
    questions, candidates = questions_of(lines)
    symptoms, less = symptoms_of(lines)
    working = {one.line for one in questions if one.kind == "question that works"}
    if symptoms and symptoms[0].name in ("noise", "order", "limit"):  # that something comes says nothing
        questions = [replace(one, kind="question", name="") for one in questions]
    notes = notes_of(lines, {one.value for one in questions}, results)
    engine, system = system_of(lines)
    causes, suspected = causes_of(lines, silent=not symptoms)
    facts = [
        *questions,
        *targets_of(lines, [one.whole.strip() for one, _ in notes]),
        *engine,
        *model_of(lines),
        *settings_of([one for one in lines if one.number not in working]),
        *(fact for _, fact in notes),
        *symptoms,
        *causes,
        *_results(lines, results),
        *_images(text),
    ]
    known = [f"{name}#{issue}" for one in lines for name, issue in form("reference").findall(one.text)]
    return Report(
        text=text,
        lines=tuple(lines),
        title=one_line(lines[0].text)[:300],
        facts=tuple(facts),
        candidates=(*candidates, *less, *suspected),
        system=system,
        notes=tuple(one for one, _ in notes),
        results=tuple(results),
        references=tuple(dict.fromkeys(known))[:3],
    )


def fact(kind: str, line: Line, span: tuple[int, int] | None = None, value: str = "", name: str = "") -> Fact:
    """A fact at a place of a line, by default the whole line; `value` is what is read, if not its words."""
    first, last = span or (0, len(line.text))
    start, end = line.located.span(first, last)
    return Fact(kind, value or line.text[first:last], start, end, line.number, name)


def aside(line: Line) -> bool:
    """Whether a line says what should be, what was proposed or what helps, and not what happened."""
    section, begun = (pattern(WORDS["aside"][one]) for one in ("section", "line"))
    return (
        section.fullmatch(line.heading[:LONGEST_ANSWER]) is not None or begun.fullmatch(line.text) is not None
    )


def _negated(line: Line, offset: int, how: str = "negated") -> bool:
    return pattern(WORDS["aside"][how]).search(line.text[max(0, offset - 40) : offset]) is not None


# Questions


def _written(text: str) -> Iterator[str]:
    """The questions that a piece of code or a command asks in quotation marks, which a shell may escape."""
    text = re.sub(r"\\(?=[\"'])", "", text)
    for expression in WORDS["written"]:
        for found in pattern(expression).finditer(text):
            mark, *_, said = found.groups()
            between = said != said.strip() or (mark != "'" and mark in said)  # two quotations stand around it
            if not (between or form("compiled").match(text, found.end())):
                yield said
    yield from (unquote_plus(one[1]) for one in pattern(WORDS["address"]).finditer(text))


def _quoted_words(quotation: re.Match[str]) -> str:
    """The words between the marks of a quotation."""
    return next(one for one in quotation.groupdict().values() if one)


def _asked(line: Line) -> Iterator[tuple[int, str]]:
    """What a line of prose says was asked, with how sure that is; smaller is surer."""
    asks, answers, ends = pattern(WORDS["asks"]), pattern(WORDS["answers"]), 0
    asked, answered, states, named = (pattern(WORDS[one]) for one in ("asked", "answered", "states", "named"))
    plain = (one for expression in WORDS["said"] for one in pattern(expression).findall(line.text))
    yield from ((4, one) for one in (*_written(line.text), *plain))
    for found in form("quoted").finditer(line.text):
        before, ends = line.text[ends : found.start()][-60:], found.end()
        said = _quoted_words(found)
        if found["code"] is not None and (inside := list(_written(said))):
            yield from ((2, one) for one in inside)
            continue
        *_, last = [None, *asks.finditer(before)]
        between = form("example").sub("", before[last.end() :]) if last else ""
        prose = found["code"] is None and answered.match(line.text, ends)
        if named.match(line.text, ends):
            continue
        if last and pattern(WORDS["answer"]).search(before[: last.start()]):
            continue
        if asked.match(line.text, ends):
            yield 3, said
        elif prose:  # a name of a program, too, returns something
            yield (3 if len(said.split()) > 2 or asks.search(line.text + line.heading) else 7), said
        elif last is not None and (
            states.fullmatch(between) or not (answers.search(between) or "." in between)
        ):
            yield (7 if found["bold"] else 5), said
        elif found["bold"] is None and said.rstrip().endswith(("?", "？")):
            yield 8, said


def _tells_of_a_quotation(text: str) -> bool:
    """Whether a line has words before a quotation: it speaks of what was asked, and is not it."""
    quoted = form("quoted").search(text)
    return quoted is not None and any(map(str.isalnum, text[: quoted.start()]))


def _candidates(lines: Sequence[Line]) -> Iterator[tuple[int, Line, str]]:
    """What may be the question: how sure it is (smaller is surer), its line, and its text."""
    label, log = WORDS["question"], pattern(WORDS["aside"]["log"])
    named = pattern(rf"(?:[-*+>]\s+|\d+\.\s+)?[^\w\[]{{0,3}}(?:{label})\W{{0,3}}\s*[:：]\s*(.+)")
    section, command = pattern(rf"\W*(?:{label})\W*"), pattern(WORDS["command"])
    listing = ""  # the line above, such as "Tested queries:"
    sizes = Counter(one.block for one in lines)
    for above, one in pairwise((lines[0], *lines)):
        logged = log.match(one.text) is not None
        if not (logged or one.title) and (found := named.fullmatch(one.text)) and found[1][0] not in "[{(":
            quoted = form("quoted").search(found[1]) if _tells_of_a_quotation(found[1]) else None
            yield 0, one, _quoted_words(quoted) if quoted else form("after").split(found[1])[0]
        first = one.heading != above.heading and len(one.text) <= LONGEST_ANSWER
        told = SENTENCES.search(one.text) or _tells_of_a_quotation(one.text)
        if first and not logged and section.fullmatch(one.heading) and not told:
            yield 1, one, one.text
        written = (
            (5 if logged else 2, text) for text in _written(_whole_call(above, one))
        )  # a log has other questions, too
        yield from ((rank, one, text) for rank, text in (written if one.code else _asked(one)))
        if one.code and not logged and (found := command.fullmatch(one.text)):
            shell = one.text.startswith(("$", ">", "%")) or one.info in (
                "bash",
                "sh",
                "shell",
                "console",
                "zsh",
            )
            yield (5 if shell else 9), one, found[1]
        lone = one.code and not above.code and sizes[one.block] == 1
        names = PATH.search(listing) or _tells_of_a_quotation(listing)  # it says what the block is
        if lone and not names and _asks_below(listing) and not form("no_result").search(one.text):
            yield 3, one, one.text
        item = re.fullmatch(
            r"([-*+•]\s+)?(?:[\w ]{1,30}[:：]\s*)?([\"'“`].{2,200}[\"'”`])(.{0,80})", one.text
        )
        alone = item is not None and not item[3] and item[2][0] != "`"
        if item and (item[1] or (alone and _asks_below(listing))):
            yield (5 if listing or item[3].lstrip().startswith(("→", "->", "=>")) else 9), one, item[2]
        elif not one.text.startswith(("-", "*", "+")):
            asks = pattern(WORDS["announces"]).search(one.text) and pattern(WORDS["asks"]).search(one.text)
            listing = one.text if asks else ""
    by_number = {one.number: one for one in lines}
    for table in tables(lines):
        for column in (nth for nth, head in enumerate(table.header) if section.fullmatch(head)):
            for line, row in table.rows:
                if number(row[column]) is None:
                    yield 1, by_number[line], row[column]


def _whole_call(above: Line, line: Line) -> str:
    """A line of code, with the one above it where a bracket opened there."""
    goes_on = above.block == line.block and above.text.endswith(("(", "=", "[", "{"))
    return f"{above.text} {line.text}" if goes_on else line.text


def _asks_below(text: str) -> bool:
    """Whether a line announces a question, and not what came of one."""
    *_, last = [None, *pattern(WORDS["asks"]).finditer(text)]
    return last is not None and not pattern(WORDS["answers"]).search(text, last.end())


@dataclass(frozen=True)
class Asked:
    """What may be a question: its rank (smaller is surer), its line, its span in the line, its words."""

    rank: int
    line: Line
    span: tuple[int, int]
    text: str


def questions_of(lines: Sequence[Line]) -> tuple[list[Fact], list[Fact]]:
    """The questions with what became of them, and what may be one."""
    found: dict[tuple[int, int, str], Asked] = {}
    called = {name for one in lines for name in form("called").findall(one.text)}
    for rank, line, said in _candidates(lines):
        text = _clean(said)
        forms = (text, text.replace(" ", "+"), quote(text)) if text else ()
        written = next((one for one in forms if one in line.text), "")
        if not written:
            continue
        name = text in called or form("name").search(text) is not None
        for match in re.finditer(re.escape(written), line.text):
            before = line.text[: match.start()]
            doubtful = aside(line) or (name and not form("searched").search(before))
            doubtful |= not line.code and pattern(WORDS["aside"]["asks_you"]).search(before) is not None
            sure = SURE + 1 if doubtful else rank
            one = Asked(sure, line, match.span(), text)
            known = found.setdefault((line.number, match.start(), text), one)
            if sure < known.rank:
                found[line.number, match.start(), text] = one
    asked = sorted(found.values(), key=lambda one: (one.rank, one.line.number))
    facts = [_judged(lines, asked, one) for one in asked if one.rank < SURE and not _inside(one, asked)]
    less = [fact("question", one.line, one.span, one.text) for one in asked if one.rank >= SURE]
    return facts[: 2 * MOST_OF_A_KIND], less[:MOST_OF_A_KIND]


def _inside(one: Asked, asked: Sequence[Asked]) -> bool:
    """Whether another question of the same line has these words and more."""
    return any(
        other.rank < SURE and other.line is one.line and one.text != other.text and one.text in other.text
        for other in asked
    )


def _clean(text: str) -> str:
    """A question without its marks; empty for what is none, such as a placeholder or a key of JSON."""
    if re.match(r"""["']\w+["']\s*:""", text):
        return ""
    begun = re.match(r"""[\s*_]*(?:"([^"]{2,})"|`([^`]{2,})`|“([^”]{2,})”|'([^']{2,})'(?=\W|$))""", text)
    text = next(filter(None, begun.groups())) if begun else re.sub(r"^[-*+•]\s+", "", text)
    cleaned, bare = text.strip(MARKS + ".,;"), text.strip(" *_.,;")
    if bare[-1:] in tuple("'\"`") and not bare.startswith(bare[-1]) and cleaned.count(bare[-1]) % 2:
        cleaned += bare[-1]  # it closes a quotation inside
    said = {one.lower() for one in unicode_words(cleaned)}
    if (
        len(cleaned) < 2
        or cleaned[0] in "[{("
        or form("no_question").search(cleaned)
        or (said and said <= STOP_WORDS)
        or pattern(WORDS["outcome"]["fails"]).fullmatch(cleaned)
    ):
        return ""
    try:
        return check_question(cleaned)
    except InputError:
        return ""


def _judged(lines: Sequence[Line], asked: Sequence[Asked], one: Asked) -> Fact:
    """A question, with what follows it up to the next one: that it fails, that it works, or neither."""
    outcome = _outcome(lines, asked, one.line, one.span[1])
    kind = "question that works" if outcome == "works" else "question"
    return fact(kind, one.line, one.span, one.text, outcome)


def _outcome(lines: Sequence[Line], asked: Sequence[Asked], line: Line, end: int) -> str:
    fails, works = (pattern(WORDS["outcome"][one]) for one in ("fails", "works"))
    others = {one.line.number for one in asked}
    later = min((one.span[0] for one in asked if one.line is line and one.span[0] >= end), default=None)
    texts = [line.text[end:later]]
    number = lines.index(line)
    above = (one for one in reversed(lines[max(0, number - FOLLOWING) : number]) if one.block == line.block)
    for one in above if line.code else ():
        if one.number in others:
            break
        if one.text.startswith(COMMENTS):
            texts.append(one.text)
    for below in lines[number + 1 : number + 1 + FOLLOWING] if later is None else ():
        if below.number in others or aside(below) or below.heading != line.heading:
            break
        texts.append(below.text)
    for text in texts:
        bad, good = fails.search(text), works.search(text)
        if bad or good:
            return "fails" if bad and (good is None or bad.start() < good.start()) else "works"
    return ""


# Notes and the file that should be found


def notes_of(
    lines: Sequence[Line], questions: set[str], results: Sequence[Scored] = ()
) -> list[tuple[CaseNote, Fact]]:
    """The notes that a report quotes: named blocks, files of a shell, texts in code."""
    found: dict[str, tuple[CaseNote, Fact]] = {}
    says, path = pattern(PATH.pattern + WORDS["says"] + WORDS["stated"]), ""
    scored, said = {one.name for one in results}, dict[str, Fact]()

    def add(name: str, text: str, block: Sequence[Line]) -> None:
        start, end = block[0].located.span(0, 1)[0], block[-1].located.span(0, len(block[-1].text))[1]
        note = Fact("note", name, start, end, block[0].number)
        found.setdefault(name, (CaseNote(path=name, text=text), note))

    for path, quotation in _quoted_below(lines):
        add(path, "".join(f"{one.text}\n" for one in quotation), quotation)
    path = ""
    for number_, group in groupby(lines, key=lambda one: one.block):
        block = list(group)
        if not number_:
            for one in block:
                for path, text in says.findall(one.text):
                    add(path, f"{text}\n", [one])
                named = PATH.search(one.text) if one.text.rstrip(MARKS).endswith((":", "：")) else None
                named = PATH.fullmatch(one.text.strip(MARKS + ":：")) or named
                path = named[1] if named else ""
            continue
        whole = "\n".join(one.raw for one in block)
        if not path and re.match(r"(?:md|markdown)\b", block[0].info):
            path = f"memory/{len(found) + 1}.md"
        inside = PATH.search(block[0].info) or PATH.fullmatch(block[0].text.strip("#/<!-> "))
        path = path or (inside[1] if inside else "")
        if path and whole.strip():
            add(path, whole, block)
        elif not path:
            for one in (each for each in block if not form("sql").search(each.text)):
                listed = [
                    each for many in CONTENTS.findall(one.text) for each in form("strings").findall(many)
                ]
                for text in (*listed, *CONTENT.findall(one.text), *form("added").findall(one.text)):
                    if text not in questions and text not in scored and text in one.text:
                        at = one.text.index(text)
                        said.setdefault(text, fact("note", one, (at, at + len(text))))
        path = ""
    for text, known in said.items():
        name = f"memory/{len(found) + 1}.md"
        found.setdefault(name, (CaseNote(path=name, text=text + "\n"), replace(known, name=name)))
    return list(found.values())[:MOST_NOTES]


def _quoted_below(lines: Sequence[Line]) -> Iterator[tuple[str, list[Line]]]:
    """The quotation below a line that ends with a file and a word such as *says*, with the file's path."""
    announces = re.compile(rf"{PATH.pattern}(?i:{WORDS['says']})$")
    for above, one in enumerate(lines, start=1):
        found = None if one.code or _is_quoted(one) else announces.search(one.text)
        if found:
            below = takewhile(lambda each: _is_quoted(each) and not each.code, lines[above:])
            quotation = list(below)
            if quotation:
                yield found[1], quotation


def _is_quoted(line: Line) -> bool:
    return line.raw.lstrip().startswith(">")


def targets_of(lines: Sequence[Line], notes: Sequence[str]) -> list[Fact]:
    """The file that should be in the answer, where the report says so."""
    wanted, rather = pattern(WORDS["meant"]), pattern(WORDS["rather"] + PATH.pattern)
    for one in lines:
        if path := rather.search(one.text):
            return [fact("target", one, path.span(1))]
        told = wanted.search(one.text)
        if one.code or not (told or wanted.search(one.heading)):
            continue
        near = told.start() if told else 0
        if path := min(PATH.finditer(one.text), key=lambda path: abs(path.start() - near), default=None):
            return [fact("target", one, path.span(1))]
        if said := next((note for note in notes if note and note in one.text), ""):
            return [fact("target", one, (at := one.text.index(said), at + len(said)))]
    return []


# What happened


def symptoms_of(lines: Sequence[Line]) -> tuple[list[Fact], list[Fact]]:
    """What happened, by what the title says or most lines; and what other lines say."""
    found: dict[str, list[Fact]] = {}
    titled = set()
    for one in lines:
        if one.code and not one.text.startswith("$") and len(lines) > FOLLOWING and one.heading:
            continue
        for name, text in WORDS["happened"].items():
            said = pattern(text).search(one.text)
            if said and not aside(one) and not _negated(one, said.start()):
                found.setdefault(name, []).append(fact("symptom", one, said.span(), name=name))
                titled |= {name} if one is lines[0] else set()
    rare = titled & {"limit", "low"} or titled & {"order"}  # a title also has the words of other kinds
    best = max(rare or found, key=lambda name: (name in titled, len(found.get(name, ()))), default="")
    rest = [one for name, facts in found.items() if name != best for one in facts[:1]]
    return found.get(best, [])[:MOST_OF_A_KIND], rest


def causes_of(lines: Sequence[Line], silent: bool = False) -> tuple[list[Fact], list[Fact]]:
    """What is said of the cause, a mechanism or that it is not ranking; and what is only suspected.

    `silent` says that the report does not say what a search returned.
    """
    said, suspected = [], []
    guessed, excluded = (pattern(WORDS["aside"][one]) for one in ("suspected", "excluded"))
    for kind in ("mechanism", "outside"):
        for name, told in WORDS[kind].items():
            found = [
                (
                    fact(kind, one, named.span(), name=name),
                    "" if one.code else _sentence(one.text, named.start()),
                )
                for one in _where(lines, told, silent)
                if (named := pattern(told["words"]).search(one.text))
                and not pattern(told.get("unless", "(?!)")).search(
                    one.text if one.code else _sentence(one.text, named.start())
                )
                and not (_proposed(one) or _negated(one, named.start(), "denied"))
            ]
            meant = [(one, sentence) for one, sentence in found if not excluded.search(sentence)]
            said += [one for one, sentence in meant if not guessed.search(sentence)][:2]
            suspected += [one for one, sentence in meant if guessed.search(sentence)][:1]
    return said, suspected


def _sentence(text: str, offset: int) -> str:
    """The sentence of a line in which a place is."""
    ends = [found.end() for found in re.finditer(r"[.!?。！？]+(?=\s|$)|[。！？]", text)]
    first = max((end for end in ends if end <= offset), default=0)
    return text[first : min((end for end in ends if end > offset), default=len(text))]


def _where(lines: Sequence[Line], told: dict[str, Any], silent: bool) -> Sequence[Line]:
    """The lines in which words of a kind count: all, or the title and what a section quotes.

    Where a report is silent on what was returned, so do its first lines on speed and what a program threw.
    """
    if not told.get("title_only"):
        return lines
    section, thrown = (pattern(told.get(name, "(?!)")) for name in ("section", "thrown"))
    begun = lines[: 1 + FOLLOWING]

    def counts(one: Line) -> bool:
        if not one.code:
            return bool(silent and told.get("prose") and one in begun and not aside(one))
        quoted = section.fullmatch(one.heading[:LONGEST_ANSWER])
        return bool(quoted or (silent and thrown.match(one.text)))

    return [*lines[:1], *filter(counts, lines[1:])]


def _proposed(line: Line) -> bool:
    """Whether a line stands in a section of proposals, where anything may be named."""
    return pattern(WORDS["aside"]["proposal"]).fullmatch(line.heading[:LONGEST_ANSWER]) is not None


# The system, its settings, and what it showed

Told = tuple[Line, re.Match[str]]
"""A line, and what an expression finds in it."""


def system_of(lines: Sequence[Line]) -> tuple[list[Fact], System]:
    """The program and its release, and the system here that answers as it does.

    The title counts more than other lines, and a release more than a name.
    """
    best: tuple[int, Any, Line, re.Match[str], Told | None] | None = None
    for engine in WORDS["engine"]:
        words = pattern(engine["words"])
        named = [(one, said) for one in lines if (said := words.search(one.text))]
        if not named or engine["name"] == WORDS["technique"]:
            continue
        release = engine.get("release") or rf"(?i:{engine['words']})[^\d\n]{{0,20}}?\bv?(\d+\.\d+(?:\.\d+)*)"
        told = [
            (one, got)
            for one in lines
            if (got := re.search(release, one.text)) and not form("example").search(one.text[: got.start()])
        ]
        close = pattern(f"{engine['words']}|version|release")
        near = [one for one in told if close.search(one[0].text)] or (
            told
            if engine["name"] == "OpenClaw"
            else _released(lines, engine["words"], engine.get("release", ""))
        )
        weight = 10 * (named[0][0] is lines[0]) + min(len(named), 9) + 3 * bool(near)
        if best is None or weight > best[0]:
            best = weight, engine, *named[0], near[0] if near else None
    if best is None:
        return [fact("release", one, _last_group(got)) for one, got in _released(lines)[:1]], System()
    _, engine, line, said, named_release = best
    facts = [fact("engine", line, said.span(), name=engine["name"])]
    if named_release:
        facts.append(fact("release", named_release[0], _last_group(named_release[1]), name=engine["name"]))
    return facts, _system(engine, facts[-1].value if named_release else "", lines)


def _released(lines: Sequence[Line], name: str = "", release: str = "") -> list[Told]:
    """The release below the heading of a form that asks for it, or in a sentence with *using version*."""
    heading = pattern(rf"\W*(?:(?:{name or 'the'})\W+)?{WORDS['version']}\W*")
    asked = [one for one in lines if not one.code and heading.fullmatch(one.heading[:LONGEST_ANSWER])]
    written = re.compile(release) if release else form("release")
    found = [(one, got) for one in asked[:1] if (got := written.search(one.text))]
    return found or [(one, got) for one in lines if (got := form("of_release").search(one.text))][:1]


def _last_group(found: re.Match[str]) -> tuple[int, int]:
    """The place of what the alternative that was found has in brackets."""
    return found.span(found.lastindex or 0)


def _system(engine: dict[str, Any], release: str, lines: Sequence[Line]) -> System:
    """The system of a release, or of the fusion that the report names."""
    name = engine["name"]
    known: dict[str, str] = engine.get("releases", {})
    if name in LINES and not known:
        known = {one.name.partition("-")[2]: one.name for one in LINES.named(name).releases}
    numbered = {_numbers(number): one for number, one in known.items()}
    if release and numbered:
        before = [one for one in numbered if one <= _numbers(release)]
        last = engine.get("last", "") or max(known, key=_numbers)
        exact = bool(before) and _numbers(release) <= _numbers(last)
        nearest = numbered[max(before)] if before else numbered[min(numbered)]
        return System(
            nearest, name, exact, "" if exact else f"{name} {release} is not among the releases here"
        )
    fusions: dict[str, str] = engine.get("fusions", {})
    for words, system in fusions.items():
        if any(pattern(words).search(one.text) for one in lines):
            return System(system, name, False, f"Of {name}, the fusion alone can be run here")
    system = engine["system"] if engine["system"] in SYSTEMS and not fusions else ""
    near = f"; the system of its kind here is {system} (--system {system})" if system else ""
    return System(system, name, False, f"{name} {release or 'itself'} cannot be run here{near}")


def model_of(lines: Sequence[Line]) -> list[Fact]:
    """The embedding model, where the report names one, and no sentence speaks of a change or a doubt."""
    named, other = pattern(WORDS["model"]), pattern(WORDS["other_model"])
    found = [(one, said) for one in lines for said in named.finditer(one.text)]
    if len({said[1].lower() for _, said in found}) != 1:
        return []
    doubtful = [pattern(WORDS["aside"]["suspected"]), pattern(WORDS["aside"]["excluded"]), other]
    for one, said in found:
        sentence = one.text if one.code else _sentence(one.text, said.start())
        if (
            aside(one)
            or _proposed(one)
            or _negated(one, said.start())
            or any(words.search(sentence) for words in doubtful)
        ):
            return []
    line, said = found[0]
    return [fact("model", line, said.span(1))]


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d+", release))


def settings_of(lines: Sequence[Line]) -> list[Fact]:
    """The settings: the first value of each in JSON, YAML, variables or prose, and OpenClaw's own keys."""
    found: dict[str, Fact] = {}
    for name, text in WORDS["settings"].items():
        value = pattern(rf"{text}{WORDS['between']}(0,\d+|\d+(?:\.\d+)?)(?![\w.]\d)(?![a-z\d_])")
        for one in sorted(lines, key=lambda one: one.title):  # a title often names what would be right
            if form("sql").search(one.text) or _proposed(one):
                continue
            if told := value.search(one.text):
                found[name] = fact("setting", one, told.span(1), told[1].replace(",", "."), name)
                break
    if (alpha := found.pop("alpha", None)) and float(alpha.value) <= 1:
        share = float(alpha.value)
        for name, weight in (("fusion.vector", share), ("fusion.keyword", 1 - share)):
            found.setdefault(name, replace(alpha, name=name, value=f"{weight:g}"))
    for setting, text in WORDS["words"].items():
        name, _, value = setting.partition("=")
        said = next(((one, got) for one in lines if (got := pattern(text).search(one.text))), None)
        if said and name not in found and not _proposed(said[0]):
            found[name] = fact("setting", said[0], said[1].span(), value, name)
    for key in _keys(lines):
        leaf = key.name.rpartition(".")[2]
        if not any(pattern(text).fullmatch(leaf) for text in WORDS["settings"].values()):
            found.setdefault(key.name, key)
    return list(found.values())


def _keys(lines: Sequence[Line]) -> Iterator[Fact]:
    """The keys of OpenClaw's settings in the blocks that can be read as an openclaw.json, or a part of it."""
    try:
        from workbench_plugins.openclaw.config_keys import key_of
        from workbench_plugins.openclaw.config_values import parsed
    except ImportError:
        return
    for block, group in groupby(lines, key=lambda one: one.block):
        inside = list(group)
        text = "\n".join(one.raw for one in inside)
        if not block or "{" not in text[:200] or len(text) > 20_000:
            continue
        try:
            content = parsed(text, "the block")
        except InputError:
            continue
        for key_path, value in _leaves(content):
            key = key_of(f"{key_path}=") or key_of(f"query.{key_path}=")
            line = next((one for one in inside if key_path.rpartition(".")[2] in one.text), None)
            if key and line and isinstance(value, bool | int | float | str):
                said = str(value).lower() if isinstance(value, bool) else str(value)
                yield fact("setting", line, None, said, key)


def _leaves(tree: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a tree with their places below the settings of memory search."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, "" if key in ("memorySearch", "search") else f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _results(lines: Sequence[Line], results: Sequence[Scored]) -> Iterator[Fact]:
    by_number = {one.number: one for one in lines}
    for one in results:
        if line := by_number.get(one.line):
            yield fact("result", line, None, f"{one.name[:80]}: {one.description}")


def _images(text: str) -> Iterator[Fact]:
    if found := pattern(WORDS["aside"]["image"]).search(text):
        yield Fact("image", found[0], *found.span(), text.count("\n", 0, found.start()) + 1)
