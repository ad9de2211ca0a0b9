"""Runs of other engines in words and tables: comparisons, missing documents, and what is suspicious."""

from __future__ import annotations

from rich.console import Group, RenderableType

from workbench.lab.exchange.comparing import RunComparison, RunFlip
from workbench.lab.exchange.linting import RunFindings
from workbench.lab.exchange.missing import MissingDocument, MissingDocuments, Ours
from workbench.views.console import PlainTable, plain
from workbench.views.text import ABSENT, ALL_FLIPS, rendered

MOST_FLIPS = 10


@rendered.register
def rendered_comparison(found: RunComparison, all_flips: str = ALL_FLIPS) -> RenderableType:
    """The figures of each run, the verdict on each later one, and the first questions that changed sides.

    `all_flips` says where the reader finds all of them.
    """
    table = PlainTable(pad_edge=False)
    table.add_column("run")
    for head in ("hits", "hit rate", "MRR", "unanswerable,\nnothing\nreturned"):
        table.add_column(head, justify="right")
    for one in found.scored:
        silent = f"{one.silent.hits}/{one.silent.n}" if one.silent.n else ABSENT
        hits = f"{one.hits.hits}/{one.hits.n}"
        table.add_row(one.name, hits, f"{one.hits.rate:.1%}", f"{one.mrr:.3f}", silent)
    parts: list[RenderableType] = [table]
    if found.verdicts:
        first = found.scored[0].name
        verdicts = PlainTable("run", f"{found.measure}, question by question", pad_edge=False)
        for one, verdict in zip(found.scored[1:], found.verdicts, strict=True):
            verdicts.add_row(one.name, str(verdict))
        parts += [plain(""), plain(f"compared with {first}"), verdicts, *_flips(found, all_flips)]
    return Group(*parts, *(plain(one) for one in found.remarks))


def _flips(found: RunComparison, all_flips: str) -> list[RenderableType]:
    if not found.flips:
        return []
    table = PlainTable("", "run", "question", pad_edge=False)
    for one in found.flips[:MOST_FLIPS]:
        table.add_row(_sign(one), one.run, one.text)
    rest = len(found.flips) - MOST_FLIPS
    more = [plain(f"and {rest} more; {all_flips}")] if rest > 0 else []
    return [plain(""), plain(f"found (+) or lost (−) against {found.scored[0].name}"), table, *more]


def _sign(one: RunFlip) -> str:
    return "+" if one.gained else "−"


@rendered.register
def rendered_missing(missing: MissingDocuments) -> RenderableType:
    """One line a missing document: where it is in the run, and where it stands in our legs."""
    if not missing:
        return plain(f"{missing.run} returns every document that answers a question.")
    what = "document that answers" if len(missing) == 1 else "documents that answer"
    head = f"{missing.run} does not return {len(missing)} {what} a question"
    table = PlainTable("question", "missing document", "in the run")
    if missing.system:
        table.add_column(f"in {missing.system}")
    for one in missing:
        ours = [ours_text(one.ours)] if missing.system else []
        table.add_row(one.text, one.document, _in_run(one), *ours)
    return Group(plain(head, "bold"), table)


def _in_run(one: MissingDocument) -> str:
    if one.position is not None:
        return f"place {one.position}, beyond the limit"
    return f"absent; first is {one.instead}" if one.instead else "nothing returned"


def ours_text(ours: Ours | None) -> str:
    """What happens to a document in one of our pipelines, and its rank in each leg."""
    if ours is None:
        return ABSENT
    place = f" at {ours.position}" if ours.fate == "returned" else ""
    legs = [f"{one.leg} {f'{one.rank} of {one.matched}' if one.rank else 'no match'}" for one in ours.legs]
    return "; ".join([f"{ours.fate}{place}", *legs])


@rendered.register
def rendered_findings(found: RunFindings) -> RenderableType:
    """One line a finding: in how many questions, the first place, what it means, and specimens like it."""
    questions = len(found.run.rows)
    if not found:
        return plain(f"{found.run}: nothing suspicious.")
    table = PlainTable("what", "questions", "first")
    for one in found:
        table.add_row(one.kind, f"{one.questions} of {questions}", one.first)
    says = [plain(f"{one.kind}: {one.says}{_like(one.specimens)}") for one in found]
    return Group(plain(str(found.run), "bold"), table, *says)


def _like(specimens: tuple[str, ...]) -> str:
    return f" See workbench museum {specimens[0]}." if specimens else ""
