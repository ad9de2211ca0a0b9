"""Evaluations in tables: hits, passing files, reciprocal rank and empty answers, and hits by kind."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType

from workbench.lab.evaluation import PASSING, Evaluation, Evaluations, Share
from workbench.safe_text import one_line
from workbench.views.console import PlainTable, plain
from workbench.views.text import ABSENT, rendered


@rendered.register
def rendered_evaluation(evaluation: Evaluation) -> RenderableType:
    """The figures of one evaluation, as of several."""
    return rendered_evaluations([evaluation])


@rendered.register(Evaluations)
def rendered_evaluations(evaluations: Sequence[Evaluation]) -> RenderableType:
    """The figures of the evaluations, and below the hits by kind of question."""
    heading = plain("hits by kind of question")
    notes = map(plain, _notes_on_files(evaluations))
    return Group(evaluation_table(evaluations), *notes, plain(""), heading, kinds_table(evaluations))


def _notes_on_files(evaluations: Sequence[Evaluation]) -> list[str]:
    """A note for the case that some files have too few questions to pass."""
    shares = list(evaluations[0].by_file.values()) if evaluations else []
    few = sum(share.n < PASSING for share in shares)
    if not 0 < few < len(shares):
        return []
    return [
        f"files passing: at least {PASSING} of a file's questions hit; "
        f"{few} of {len(shares)} files have fewer questions and cannot pass"
    ]


def evaluation_table(evaluations: Sequence[Evaluation]) -> PlainTable:
    """One line per pipeline: hits with their interval, files passing, MRR, unanswerable questions.

    The column of files passing is left out if no file has enough questions to pass.
    """
    table = PlainTable(pad_edge=False)
    table.add_column("system")
    can_pass = any(share.n >= PASSING for one in evaluations for share in one.by_file.values())
    files = ["files\npassing"] if can_pass else []
    for name in ("hits", "hit rate", "95 % interval", *files, "MRR", "unanswerable,\nnothing\nreturned"):
        table.add_column(name, justify="right")
    for one in evaluations:
        low, high = one.overall.interval
        table.add_row(
            one.pipeline.name,
            f"{one.overall.hits}/{one.overall.n}",
            f"{one.overall.rate:.1%}",
            f"{low:.1%} – {high:.1%}",
            *([f"{one.files_passing}/{len(one.by_file)}"] if can_pass else []),
            f"{one.mrr:.3f}",
            f"{one.silent.hits}/{one.silent.n}" if one.silent.n else ABSENT,
        )
    return table


def kinds_table(evaluations: Sequence[Evaluation]) -> PlainTable:
    """Hits by kind of question, one line per pipeline."""
    return _grouped_table(evaluations, [one.by_kind for one in evaluations])


def _grouped_table(evaluations: Sequence[Evaluation], groups: Sequence[dict[str, Share]]) -> PlainTable:
    table = PlainTable(pad_edge=False)
    table.add_column("system")
    for name in _short_names(list(groups[0]) if groups else []):
        table.add_column(name, justify="right")
    for one, shares in zip(evaluations, groups, strict=True):
        table.add_row(one.pipeline.name, *(f"{share.hits}/{share.n}" for share in shares.values()))
    return table


def _short_names(names: Sequence[str]) -> Sequence[str]:
    """The names without the folder `memory/` and underscores, unless two would then look the same."""
    short = [one_line(name.removeprefix("memory/").replace("_", " ")) for name in names]
    return short if len(set(short)) == len(short) else [one_line(name) for name in names]
