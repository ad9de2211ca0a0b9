"""The numbers of chunks for a question are computed once, and come back in the order that is asked."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.records import Rows
from workbench_plugins.recommended.layout import KnownNumbers, Numbers

ASKED = st.lists(
    st.tuples(st.sampled_from("ab"), st.lists(st.integers(0, 20), unique=True, max_size=9)), max_size=9
)


@given(ASKED)
def test_each_chunk_is_worked_out_once_for_each_question(asked: list[tuple[str, list[int]]]) -> None:
    known, seen = KnownNumbers(), set[tuple[str, int]]()
    for question, rows in asked:

        def work_out(new: Rows, question: str = question) -> Numbers:
            once = {(question, row) for row in new.tolist()}
            assert not once & seen
            assert len(once) == new.size
            seen.update(once)
            return np.array([[ord(question), row] for row in new.tolist()], np.float32)

        found = known.of(question, np.array(rows, np.int64), work_out)
        assert found.tolist() == [[ord(question), row] for row in rows]
