"""Reads a bug report in anybody's own words: a list of facts, each with its place in the report.

A report is Markdown: plain text, an issue form as GitHub renders it, or a file of the workbench's template.
Nothing of it is run, no link is followed, and what looks like a secret is masked before anything is read.
Nothing without a place is a fact. What no rule is sure of is a candidate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from workbench.errors import InputError
from workbench.safe_text import one_line
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.history import LINES
from workbench_plugins.cases.model import CaseNote
from workbench_plugins.reproduce.facts import LONGEST_ANSWER, PATH, Fact, Report, System, aside, fact
from workbench_plugins.reproduce.pasted import Line, lines_of
from workbench_plugins.reproduce.questions import MOST_OF_A_KIND, questions_of
from workbench_plugins.reproduce.report_patterns import WORDS, form, pattern
from workbench_plugins.reproduce.spans import MARKS
from workbench_plugins.reproduce.verdict_facts import Scored, results_of

MOST_NOTES = 40
SENTENCE_ENDS = re.compile(r"[.!?。！？]+(?=\s|$)|[。！？]")

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
    notes = notes_of(lines, {one.value for one in questions})
    engine, system = system_of(lines)
    causes, suspected = causes_of(lines)
    facts = [
        *questions,
        *targets_of(lines),
        *engine,
        *model_of(lines),
        *settings_of(lines),
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


def notes_of(lines: Sequence[Line], questions: set[str]) -> list[tuple[CaseNote, Fact]]:
    """The notes that a report quotes: blocks below the name of a file, and texts in code."""
    found: dict[str, tuple[CaseNote, Fact]] = {}
    said: dict[str, Fact] = {}
    path = ""
    for nth, group in groupby(lines, key=lambda one: one.block):
        block = list(group)
        if not nth:
            path = _path_before(block[-1])
        elif path:
            text = "\n".join(one.raw for one in block)
            start, end = block[0].located.span(0, 1)[0], block[-1].located.span(0, len(block[-1].text))[1]
            note = Fact("note", path, start, end, block[0].number)
            found.setdefault(path, (CaseNote(path=path, text=text), note))
            path = ""
        else:
            for one in block:
                for text in _texts_in_code(one.text):
                    at = one.text.index(text)
                    if text not in questions:
                        said.setdefault(text, fact("note", one, (at, at + len(text))))
    for text, known in said.items():
        name = f"memory/{len(found) + 1}.md"
        found.setdefault(name, (CaseNote(path=name, text=text + "\n"), replace(known, name=name)))
    return list(found.values())[:MOST_NOTES]


def _path_before(line: Line) -> str:
    """The file that a line names as what follows it; empty if it names none."""
    ends = line.text.rstrip(MARKS).endswith((":", "："))
    found = PATH.search(line.text) if ends else PATH.fullmatch(line.text.strip(MARKS))
    return found[1] if found else ""


def _texts_in_code(line: str) -> list[str]:
    """The texts of memories in a line of code: those of a key or a list, and those that are added."""
    listed = [text for many in CONTENTS.findall(line) for text in form("strings").findall(many)]
    return [*listed, *CONTENT.findall(line), *form("added").findall(line)]


def targets_of(lines: Sequence[Line]) -> list[Fact]:
    """The file that should be in the answer, where the report says so."""
    wanted = pattern(WORDS["meant"])
    for one in lines:
        told = wanted.search(one.text)
        if one.code or not (told or wanted.search(one.heading)):
            continue
        near = told.start() if told else 0
        if path := min(PATH.finditer(one.text), key=lambda path: abs(path.start() - near), default=None):
            return [fact("target", one, path.span(1))]
    return _said_to_be_missing(lines)


BETWEEN = re.compile(r"[\s`'\"”*]*(?:\w+\s+){0,3}")
"""What may stand between a file and the words that it is missing."""


def _said_to_be_missing(lines: Sequence[Line]) -> list[Fact]:
    """The first file of which a line says that it is missing: *notes/tea.md does not appear*."""
    missing = pattern(WORDS["happened"]["missing"])
    for one in (each for each in lines if not each.code and not aside(each)):
        for path in PATH.finditer(one.text):
            between, told = BETWEEN.match(one.text, path.end(1)), missing.search(one.text, path.end(1))
            if between and told and told.start() <= between.end():
                return [fact("target", one, path.span(1))]
    return []


# What happened


def symptoms_of(lines: Sequence[Line]) -> tuple[list[Fact], list[Fact]]:
    """What happened, by what the title says or most lines; and what other lines say."""
    found: dict[str, list[Fact]] = {}
    titled = set()
    for one in (each for each in lines if not each.code):
        for name, text in WORDS["happened"].items():
            said = pattern(text).search(one.text)
            if said and not aside(one) and not _negated(one, said.start()):
                found.setdefault(name, []).append(fact("symptom", one, said.span(), name=name))
                titled |= {name} if one is lines[0] else set()
    rare = titled & {"limit", "low"} or titled & {"order"}  # a title also has the words of other kinds
    best = max(rare or found, key=lambda name: (name in titled, len(found.get(name, ()))), default="")
    rest = [one for name, facts in found.items() if name != best for one in facts[:1]]
    return found.get(best, [])[:MOST_OF_A_KIND], rest


def causes_of(lines: Sequence[Line]) -> tuple[list[Fact], list[Fact]]:
    """What is said of the cause, a mechanism or that it is not ranking; and what is only suspected."""
    said: list[Fact] = []
    suspected: list[Fact] = []
    guessed, excluded = (pattern(WORDS["aside"][one]) for one in ("suspected", "excluded"))
    for kind in ("mechanism", "outside"):
        for name, told in WORDS[kind].items():
            words, unless = pattern(told["words"]), pattern(told.get("unless", "(?!)"))
            sure: list[Fact] = []
            unsure: list[Fact] = []
            for one in lines[:1] if told.get("title_only") else lines:
                named = words.search(one.text)
                if not named or _proposed(one) or _negated(one, named.start(), "denied"):
                    continue
                sentence = _sentence(one, named.start())
                if unless.search(sentence) or (excluded.search(sentence) and not one.code):
                    continue
                doubted = guessed.search(sentence) and not one.code
                (unsure if doubted else sure).append(fact(kind, one, named.span(), name=name))
            said += sure[:2]
            suspected += unsure[:1]
    return said, suspected


def _sentence(line: Line, offset: int) -> str:
    """The sentence of a line in which a place is; a line of code is one."""
    text = line.text
    ends = [] if line.code else [found.end() for found in SENTENCE_ENDS.finditer(text)]
    first = max((end for end in ends if end <= offset), default=0)
    return text[first : min((end for end in ends if end > offset), default=len(text))]


def _proposed(line: Line) -> bool:
    """Whether a line stands in a section of proposals, where anything may be named."""
    return pattern(WORDS["aside"]["proposal"]).fullmatch(line.heading[:LONGEST_ANSWER]) is not None


# The system, its settings, and what it showed

Told = tuple[Line, re.Match[str]]
"""A line, and what an expression finds in it."""


def system_of(lines: Sequence[Line]) -> tuple[list[Fact], System]:
    """The program and its release, and the system here that answers as it does.

    A release counts more than a name in the title, and that more than other lines.
    """
    best: tuple[tuple[bool, bool, int], Any, Line, re.Match[str], Told | None] | None = None
    for engine in WORDS["engine"]:
        words = pattern(engine["words"])
        named = [(one, said) for one in lines if (said := words.search(one.text))]
        if not named:
            continue
        release = engine.get("release") or rf"(?i:{engine['words']})[^\d\n]{{0,20}}?\bv?(\d+\.\d+(?:\.\d+)*)"
        told = [(one, got) for one in lines if (got := re.search(release, one.text))]
        close = pattern(f"{engine['words']}|version|release")
        near = [one for one in told if close.search(one[0].text)]
        near = near or _released(lines, engine["words"], engine.get("release", ""))
        weight = bool(near), named[0][0] is lines[0], len(named)
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
        exact = bool(before) and _numbers(release) <= max(numbered)
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
        sentence = _sentence(one, said.start())
        if aside(one) or _proposed(one) or _negated(one, said.start()):
            return []
        if any(words.search(sentence) for words in doubtful):
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
        for one in lines:
            if (told := value.search(one.text)) and not _proposed(one):
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
