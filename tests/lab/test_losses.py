"""Where right files are lost, stage by stage."""

from __future__ import annotations

from workbench.measure.evaluation import evaluate
from workbench.measure.losses import losses_by_stage
from workbench.measure.questions import Question, QuestionSet
from workbench.memory.index import MemoryIndex
from workbench.records import Fate
from workbench.retrieval.explain import explain
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED


def test_every_missed_question_is_lost_at_the_stage_that_explain_names(
    sample: MemoryIndex, questions: QuestionSet
) -> None:
    for name in ("openclaw-2026.2.13", "bm-head", "openclaw-2026.9.6"):
        [evaluation] = evaluate(questions, [SYSTEMS[name]], sample)
        found = losses_by_stage(evaluation, sample)
        assert found.returned == sum(one.hit for one in evaluation.asked)
        assert found.losses[-1].left == found.returned
        traces = {one.question.question: one.trace for one in evaluation.asked}
        for loss in found.losses:
            for one in loss.questions:
                best = explain(traces[one.question], sample, one.target)
                if best.verdicts[0].candidate is not None:
                    dropped = [verdict.candidate.drop for verdict in best.verdicts if verdict.candidate]
                    assert loss.stage in {drop.stage.description for drop in dropped if drop}
                else:
                    assert best.fate in (Fate.NO_MATCH, Fate.BEYOND_POOL)


def test_a_file_that_is_not_indexed_is_lost_by_the_index(toy: MemoryIndex) -> None:
    asked = QuestionSet(questions=(Question(question="rooibos", target="memory/none.md", kind="direct"),))
    [evaluation] = evaluate(asked, [SHIPPED], toy)
    found = losses_by_stage(evaluation, toy)
    assert [(one.stage, one.lost) for one in found.losses if one.lost] == [
        ("the index: it does not have the file", 1)
    ]
    assert found.to_frame()["target"].tolist() == ["memory/none.md"]
