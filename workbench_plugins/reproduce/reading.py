"""Reads a bug report in anybody's own words: a list of facts, each with its place in the report.

A report is Markdown: plain text, an issue form as GitHub renders it, or a file of the workbench's template.
Nothing of it is run, no link is followed, and what looks like a secret is masked before anything is read.
Nothing without a place is a fact. What no rule is sure of is a candidate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, takewhile
from typing import Any

from workbench.errors import InputError
from workbench.safe_text import one_line
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.history import LINES
from workbench_plugins.cases.model import CaseNote
from workbench_plugins.reproduce.facts import Fact, Report, System
from workbench_plugins.reproduce.pasted import Line, lines_of
from workbench_plugins.reproduce.places import LONGEST_ANSWER, PATH, aside, fact
from workbench_plugins.reproduce.questions import FOLLOWING, MOST_OF_A_KIND, questions_of
from workbench_plugins.reproduce.report_patterns import WORDS, form, pattern
from workbench_plugins.reproduce.spans import MARKS
from workbench_plugins.reproduce.verdict_facts import Scored, results_of

MOST_NOTES = 40
LISTED = re.compile(r"[-*+•]\s|\d+[.)]\s")
"""What begins an item of a list."""

KEYS = r"""["']?(?:content|text|memory|page_content|doc|document|body|fact|passage|chunk|note)s?["']?"""
CONTENT = re.compile(rf"""{KEYS}\s*[:=]\s*["']([^"'\n]{{8,400}})["']""")
CONTENTS = re.compile(rf"""(?:{KEYS}\s*[:=]\s*|add_texts\(|from_texts\()\[([^\]\n]{{8,2000}})\]""")


def read_report(text: str) -> Report:
    """What a report says. Raises InputError for a text without a word."""
    lines = lines_of(text)
    if not any(one.text.strip("#->*` ") for one in lines):
        raise InputError("The report has no text.", "Paste what was reported, with the question.")
    results = results_of(lines)
    symptoms, less = symptoms_of(lines)
    returned = bool(symptoms) and symptoms[0].name in ("noise", "order", "limit")
    questions, candidates = questions_of(lines, returned)
    working = {one.line for one in questions if one.kind == "question that works"}
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


def _negated(line: Line, offset: int, how: str = "negated") -> bool:
    return pattern(WORDS["aside"][how]).search(line.text[max(0, offset - 40) : offset]) is not None


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
    doubted = _doubted(lines)
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
            unsure = [
                one
                for one, sentence in meant
                if guessed.search(sentence) or (kind == "outside" and one.line in doubted)
            ]
            said += [one for one, _ in meant if one not in unsure][:2]
            suspected += unsure[:1]
    return said, suspected


def _doubted(lines: Sequence[Line]) -> set[int]:
    """The lines of the lists and sections that name possible causes."""
    found, listed = set(), False
    doubt = pattern(WORDS["aside"]["possible"])
    for one in lines:
        listed = (listed and LISTED.match(one.text) is not None) or doubt.fullmatch(one.text) is not None
        if listed or doubt.fullmatch(one.heading[:LONGEST_ANSWER]):
            found.add(one.number)
    return found


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
