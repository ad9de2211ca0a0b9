"""Computes the numbers that a report prints again: its arithmetic, its tables, its lists and its scores."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from workbench.errors import InputError
from workbench.retrieval.fusion import Fusion
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.cases.case_results import CaseRun
from workbench_plugins.cases.model import Case, CaseLists, CaseMemory, CaseQuestion, CaseSystem, Expected
from workbench_plugins.cases.running import run_case, with_observations
from workbench_plugins.decode.decoding import decode
from workbench_plugins.decode.negative import keeps_order, smallest_gap
from workbench_plugins.decode.printed import printed
from workbench_plugins.engines.presets import fuse
from workbench_plugins.reproduce.facts import Report, aside
from workbench_plugins.reproduce.pasted import Line
from workbench_plugins.reproduce.report_patterns import WORDS, pattern
from workbench_plugins.reproduce.verdict_facts import number, tables

SUM = re.compile(
    r"(?<![\w.])([\d.()*/+×·÷−\s-]{5,120}?)\s*[=≈]\s*\**(-?\d+(?:\.\d+)?)(?![\d.]*\d|\s*[*/+×·÷(−-])"
)
"""Arithmetic with its result: 0.7 * 0.5 + 0.3 * 0.74 = 0.572."""
PRINTED = re.compile(r"""\bscore["'`]?\s*[:=]\s*(\d\.\d{1,8})\b""", re.IGNORECASE)
SCORE = re.compile(r"(?<![\w.])(0\.\d{3,8})(?![\w.]|%)")
MOST_SUMS, MOST_SCORES = 12, 8
OPERATORS: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
FINAL = re.compile(r"rrf|weighted|final|hybrid|combined|fused|total", re.IGNORECASE)
DISTANCE, SIMILARITY = (
    re.compile(r"distance", re.IGNORECASE),
    re.compile(r"similarity|score|expected", re.IGNORECASE),
)
ORDER = re.compile(r"order|rank|sort|reihenfolge|排序|順", re.IGNORECASE)
LISTED = re.compile(
    r"[-*]\s+(?:document |doc |note )?(\w[\w./-]{0,60})\W{0,4}[:=]\s*(\d+(?:\.\d+)?)", re.IGNORECASE
)
WEIGHTS = re.compile(r'"?weights"?\s*[:=]\s*\[([\d.,\s]{3,200})\]', re.IGNORECASE)


@dataclass(frozen=True)
class Check:
    """Something that was computed again: what came of it, and the verdict that follows, if one does."""

    sentence: str
    kind: str = ""
    case: Case | None = None


def checks_of(report: Report) -> list[Check]:
    """What can be computed again of a report, what decides first."""
    made = [*_lists(report), *_conversions(report), *_same_order(report), *_kept_order(report)]
    sums = list(_sums(report))
    made += [*_two_floors(report), *_first_ranks(report)]
    return [*made, *sums, *([] if sums else _scores(report))]


# Arithmetic


def computed(text: str) -> float:
    """The value of plain arithmetic. Raises ValueError for anything else."""

    def value(node: ast.expr) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        raise ValueError(text)

    plain = text.translate(str.maketrans("×·÷−", "**/-")).strip()
    try:
        return value(ast.parse(plain, mode="eval").body)
    except (SyntaxError, ZeroDivisionError, RecursionError, MemoryError) as error:
        raise ValueError(text) from error


def _sums(report: Report) -> Iterator[Check]:
    """The arithmetic of a report, with whether it adds up to what is printed."""
    found: list[tuple[int, str, str, float]] = []
    for where, text in _continued(report.lines):
        for one in SUM.finditer(text):
            said = one[1].strip()
            if re.search(r"\d\s*[*/+×·÷−-]\s*[(\d]", said) and "." in said + one[2]:
                with suppress(ValueError):
                    found.append((where, said, one[2], computed(said)))
    right = []
    for where, said, result, value in found[:MOST_SUMS]:
        told = printed(result)
        if abs(value - told.value) <= told.half * 1.001:
            right.append((where, said, result))
        else:
            yield Check(f"Line {where} does not add up: {said} = {value:g}, not {result}.")
    different = {result for _, _, result in right}
    said = "; ".join(f"line {where}: {text} = {result}" for where, text, result in right)
    if len(different) > 1 and _disputed(report, {where for where, _, _ in right}):
        yield Check(
            f"the arithmetic of the report adds up ({said}). The program itself was not run.",
            "stand-in",
        )
    elif right:
        yield Check(f"The arithmetic adds up: {said}.")


def _disputed(report: Report, where: set[int]) -> bool:
    """Whether a report says that numbers are wrong: by what happened, or with the number that it expects."""
    expected = any(aside(one) for one in report.lines if one.number in where)
    disputed = report.symptom in ("order", "low") or (expected and not report.symptom)
    return disputed and not report.of("outside")


def _continued(lines: Sequence[Line]) -> Iterator[tuple[int, str]]:
    """The lines, each with those below it that go on with an equals sign."""
    where, text = 0, ""
    for one in lines:
        if where and one.text.startswith(("=", "≈")) and len(text) < 1_000:
            text += f" {one.text}"
            continue
        yield where, text
        where, text = one.number, one.text
    yield where, text


# Tables


def _conversions(report: Report) -> Iterator[Check]:
    """Tables with a column of distances and one of similarities: what cannot be, or is so by definition."""
    for table in tables(report.lines):
        columns = [
            next((nth for nth, head in enumerate(table.header) if what.search(head)), None)
            for what in (DISTANCE, SIMILARITY)
        ]
        if None in columns or columns[0] == columns[1]:
            continue
        cells = [[number(row[one]) for one in columns if one is not None] for _, row in table.rows]
        rows = sorted((one, other) for one, other in cells if one is not None and other is not None)
        line = table.rows[0][0] if table.rows else 0
        if any("expect" in head.lower() for head in table.header) and any(
            abs(distance) < 1e-9 and abs(other - 1) < 1e-9 for distance, other in rows
        ):
            yield Check(
                f"line {line} compares a distance with a "
                "similarity. A cosine distance is 1 − similarity: for the same text 0, where that is 1.",
                "not a relevance bug",
            )
        grows = [(one, other) for one, other in pairwise(rows) if other[1] > one[1]]
        falls = [(one, other) for one, other in pairwise(rows) if other[1] < one[1]]
        if len(rows) > 3 and grows and falls:
            (near, high), (far, higher) = grows[0]
            yield Check(
                f"the conversion in the table of line {line} is not monotonic. "
                f"A distance of {near:g} gives {high:g}, and {far:g}, which is further, gives {higher:g}. "
                "The program itself was not run.",
                "stand-in",
            )


def _same_order(report: Report) -> Iterator[Check]:
    """Two final scores of the same rows that give the same order, where the report says that they do not."""
    for table in tables(report.lines):
        final = [number for number, head in enumerate(table.header) if FINAL.search(head)]
        rows = [[_last(row[one]) for one in final] for _, row in table.rows]
        asked = report.symptom == "order" or ORDER.search(report.title)
        if not asked or len(final) < 2 or len(rows) < 2 or any(None in row for row in rows):
            continue
        names = [row[0] for _, row in table.rows]
        columns = [[-(row[at] or 0) for row in rows] for at in range(len(final))]
        orders = [sorted(range(len(rows)), key=one.__getitem__) for one in columns]
        shown = [", ".join(names[one] for one in order) for order in orders]
        heads = [table.header[one] for one in final]
        if len(set(map(tuple, orders))) == 1:
            yield Check(
                f"in the table of line {table.rows[0][0]}, {' and '.join(heads)} give "
                f"the same order, {shown[0]}. So this example does not show a difference between them.",
                "not reproduced",
            )
        else:
            yield Check(
                "; ".join(f"{head} gives the order {one}" for head, one in zip(heads, shown, strict=True))
            )


def _last(cell: str) -> float | None:
    """The number of a cell, or the result of the arithmetic in it."""
    return number(cell.rpartition("=")[2])


# Lists


def _lists(report: Report) -> Iterator[Check]:
    """The lists of two legs, run through the fusion that the report names, and compared number by number."""
    vector, keyword = (pattern(WORDS["scores"][one]) for one in ("vector", "keyword"))
    legs = [
        {one.name: score for one in report.results if (score := one.of(leg)) is not None}
        for leg in (vector, keyword)
    ]
    final = {one.name: score for one in report.results if (score := one.of(FINAL)) is not None}
    if len(final) < 2 or not all(legs) or legs[0] == legs[1] or not report.system.engine:
        return
    run = _fused(report, CaseLists(vector=legs[0], keyword=legs[1]))
    if run is None:
        return
    made = {one.chunk.path: one.score for one in run.answers[0].trace.candidates}
    wrong = [name for name, score in final.items() if not _close(made.get(name), score)]
    if wrong:
        yield Check(
            f"The fusion of {run.pipeline.name}, run on the lists of the report, gives {wrong[0]} "
            f"{made.get(wrong[0], 0.0):.4g}, and not {final[wrong[0]]:g}: another formula or setting."
        )
    elif report.symptom == "order" and not run.holds:
        yield Check(
            f"the fusion of {run.pipeline.name}, run on the lists of the report, gives each "
            f"of its {len(final)} scores, and its order.",
            "reproduced",
            with_observations(run),
        )


def _fused(report: Report, lists: CaseLists) -> CaseRun | None:
    """The run of the lists on the system of the report; None without a target in them."""
    target, name = report.value("target"), report.system.name
    if target not in {**lists.vector, **lists.keyword} or name not in SYSTEMS:
        return None
    settings = [f"{key}={value}" for key, value in report.settings.items() if key.startswith("fusion.")]
    asked = CaseQuestion(
        question=report.value("question") or "lists", expect=Expected(found=target, within=1)
    )
    case = Case(
        title=report.title,
        system=CaseSystem(name=name, settings=settings),
        questions=[asked],
        memory=CaseMemory(lists=lists),
        known_bug="as reported",
    )
    with suppress(InputError):
        return run_case(case)
    return None


def _close(made: float | None, told: float) -> bool:
    digits = len(f"{told:g}".partition(".")[2])
    return made is not None and abs(made - told) <= 0.5 * 10**-digits * 1.001


def _kept_order(report: Report) -> Iterator[Check]:
    """Min-max with a weight so large that no other query can change the order of the first one."""
    weights = WEIGHTS.search(report.text)
    lines = report.lines
    minmax = next((one for one in lines if re.search(r"min[_-]?max", one.text, re.IGNORECASE)), None)
    listed = [(line, found) for line in lines if (found := LISTED.fullmatch(line.text))]
    if not (weights and minmax and len(listed) > 2 and report.symptom in ("order", "missing")):
        return
    first, *others = [float(one) for one in re.findall(r"\d*\.?\d+", weights[1])]
    scores = [float(found[2]) for _, found in listed]
    if keeps_order(scores, first, others):
        yield Check(
            f"these settings cannot do it. Min-max (line {minmax.number}) keeps the order of "
            f"the scores from line {listed[0][0].number} on. The smallest gap between two of them counts "
            f"{smallest_gap(scores) * first:.3g}, and the other queries together at most {sum(others):g}. "
            "So look before the fusion: which documents does each query fetch?",
            "not reproduced",
        )


# Scores


def _of_ranks(fusion: Fusion) -> bool:
    return all(one.endswith("_rank") for one in fusion.reads())


def _two_floors(report: Report) -> Iterator[Check]:
    """A score that is printed under a lower floor, and that is below another floor of the report."""
    floor = pattern(rf"{WORDS['settings']['min_score']}{WORDS['between']}(0|0?\.\d+)(?![\w.]*\d)")
    floors = [(one.number, float(found)) for one in report.lines for found in floor.findall(one.text)]
    printed_scores = ((one.number, found) for one in report.lines for found in PRINTED.findall(one.text))
    for line, score in printed_scores if report.symptom == "missing" else ():
        lower = next((value for number, value in reversed(floors) if number <= line), None)
        higher = next(((number, value) for number, value in floors if value > float(score)), None)
        if lower is not None and higher and lower <= float(score):
            yield Check(
                f"line {line} prints the score {score}. A floor of {lower:g} lets it pass, and a floor of "
                f"{higher[1]:g} (line {higher[0]}) drops it. "
                "The program itself was not run.",
                "stand-in",
            )
            return


def _first_ranks(report: Report) -> Iterator[Check]:
    """A printed score that is the first place of one list, in the fusion of ranks that the report names."""
    if not report.system.name:
        return
    stages = SYSTEMS.named(report.system.name).stages
    ranked = next((one for one in stages if isinstance(one, Fusion) and _of_ranks(one)), None)
    said = next(((one, found) for one in report.lines if (found := PRINTED.search(one.text))), None)
    if not (ranked and said):
        return
    line, found = said
    first = fuse(ranked, {"first": 1.0}, {})[0].score
    if abs(first - float(found[1])) < 1e-6:
        yield Check(
            f"the score {found[1]} of line {line.number} is what {ranked.description} gives to the first hit "
            f"of one list, whatever its own score is, and the fusion of {report.system.name} is this one. "
            "Why a list has this hit cannot be seen from the score.",
            "stand-in",
        )


def _scores(report: Report) -> Iterator[Check]:
    """The printed scores that one published formula makes, and that chance does not explain."""
    seen = list(dict.fromkeys(one for line in report.lines for one in SCORE.findall(line.text)))
    asked = pattern(WORDS["aside"]["asks_whether"])
    asks = next((line.number for line in report.lines if asked.search(line.text)), 0)
    for one in seen[:MOST_SCORES]:
        found = decode([one])
        if not found.claimed:
            continue
        own = next((fit for fit in found.claimed if report.system.name in fit.used_by), None)
        says = f"{found.answer}."
        if own and own.count == 1:
            says = f"In {report.system.name}, {one} = {own.ways[0].text}."
        if asks and own and not report.symptom:
            yield Check(
                f"line {asks} asks whether it is so by design, and it is: {says}", "not a relevance bug"
            )
        elif report.symptom == "low" and all("rank" in fit.ways[0].text for fit in found.claimed):
            bound = "However well a note matches, such a sum of ranks is as small as this."
            yield Check(f"{says} {bound}", "stand-in")
        else:
            yield Check(says)
