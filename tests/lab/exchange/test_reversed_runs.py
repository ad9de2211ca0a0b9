"""A run whose worst results come first is called upside down, beside the order by our own vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import world
from workbench.retrieval.index_adapters import CachedIndex
from workbench.systems.catalogue import SYSTEMS
from workbench_plugins.runs.comparing import missing_documents
from workbench_plugins.runs.linting import lint_labelled
from workbench_plugins.runs.reversed_runs import order_against_ours
from workbench_plugins.runs.runs import Run, Truth

THINGS = ("kettle", "saw", "map", "drum", "globe", "ferry", "barn", "bread", "radio", "lamp", "rope", "clock")
FEW = 2


@pytest.fixture
def index(tmp_path: Path) -> Iterator[CachedIndex]:
    notes = {f"memory/{name}.md": f"# {name}\n\nThe {name} and all about it: {name}s.\n" for name in THINGS}
    with world.build(tmp_path, notes) as opened:
        yield CachedIndex(opened)


def run_and_truth(index: CachedIndex, reverse: bool, questions: int, returned: int) -> tuple[Run, Truth]:
    """A run of the first results by our vectors, or of the last ones with the last one first."""
    run, texts, right = Run("theirs"), {}, {}
    for number, name in enumerate(THINGS[:questions]):
        texts[f"q{number}"] = f"where is the {name}"
        hits = index.vector(index.embed(texts[f"q{number}"]), index.size)
        paths = [one.path for one in index.chunks(hits.rows)]
        right[f"q{number}"] = {paths[0]: 1}
        run.question(f"q{number}", texts[f"q{number}"])
        for rank, path in enumerate((paths[::-1] if reverse else paths)[:returned], 1):
            run.add(f"q{number}", path, 1 - rank / 100, rank=rank)
    return run, Truth(right, texts=texts)


@pytest.mark.parametrize("returned", [4, len(THINGS)])
def test_a_reversed_run_is_told_and_a_right_one_is_not(index: CachedIndex, returned: int) -> None:
    run, truth = run_and_truth(index, True, 8, returned)
    against = order_against_ours(run, truth, index)
    assert against is not None
    assert against.is_reversed
    assert str(against).startswith("theirs is upside down, its worst results come first: the mean rank corr")
    assert missing_documents(run, truth, 4, index, SYSTEMS["recommended"]).order == str(against)
    kinds = [one.kind for one in lint_labelled(run, truth, against)]
    assert kinds == (["no right document", "order"] if returned == 4 else ["order"])
    run, truth = run_and_truth(index, False, 8, returned)
    assert lint_labelled(run, truth, order_against_ours(run, truth, index)) == []


def test_few_questions_do_not_tell(index: CachedIndex) -> None:
    against = order_against_ours(*run_and_truth(index, True, FEW, 4), index)
    assert against is not None
    assert not against.is_reversed
    assert str(against).endswith("over 2 questions, too few questions to tell.")


def test_without_an_index_only_the_labels_speak(index: CachedIndex) -> None:
    (finding,) = lint_labelled(*run_and_truth(index, True, 8, 4))
    assert finding.description == "None of the 8 documents that answer its questions is in the run."
