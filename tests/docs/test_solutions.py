"""Every solution runs in a fresh kernel. In a file of its own, it can run beside the lessons."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.test_notebooks import (
    SOLUTIONS,
    each,
    read_by_word,  # noqa: F401
    runs_with_its_features_alone,
)


@each(SOLUTIONS[::-1])  # the lessons come in order: two that ask the model the same seldom do so at once
@pytest.mark.usefixtures("read_by_word", "own_cache")
def test_a_solution_runs_with_the_features_that_it_names_alone(path: Path) -> None:
    runs_with_its_features_alone(path)
