"""Any system with a reranker: what a person types, and the system's own order where the reranker fails."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.commands import Run
from tests.conftest import SAMPLE
from tests.told import Told, failing
from workbench.errors import InputError
from workbench.memory.embedding.local import LocalEmbedder
from workbench.memory.index import MemoryIndex
from workbench.retrieval.columns import parameters
from workbench.retrieval.pipeline import Pipeline, search
from workbench.retrieval.settings import with_settings
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import THREE_FIXES
from workbench_plugins.providers.reranking import KEY, JudgeReranker, LocalCrossEncoder, RemoteReranker
from workbench_plugins.recommended.pipelines import RECOMMENDED, LateOfIndex, LateReranker
from workbench_plugins.rerank import Rerank, reranker_named, with_reranker

QUESTION = "rooibos tea"
REMOTE = "cohere:some/model@http://127.0.0.1:9/v2"


def one_reranker(pipeline: Pipeline) -> bool:
    return not any(isinstance(stage, Rerank) for stage in pipeline.stages)


@pytest.mark.parametrize("name", [name for name, one in SYSTEMS.items() if one_reranker(one)])
def test_a_system_keeps_its_own_answer_where_its_reranker_fails(name: str, toy: MemoryIndex) -> None:
    plain = search(QUESTION, SYSTEMS[name], toy)
    reranked = search(QUESTION, with_reranker(SYSTEMS[name], Told(failing)), toy)
    assert reranked.order.tolist() == plain.order.tolist()
    assert reranked.dropped.tolist().count(-1) == plain.dropped.tolist().count(-1)
    assert any("it is down" in note for note in reranked.notes) or not plain.chunks


def test_silence_does_not_depend_on_a_reranker(sample: MemoryIndex) -> None:
    found = [
        search("rear hub of the bike", one, sample).columns["answerable"][0]
        for one in (RECOMMENDED, with_reranker(RECOMMENDED, Told(failing)))
    ]
    assert found[0] == found[1] < 1


def test_a_system_with_a_reranker_of_its_own_takes_no_second_one() -> None:
    with pytest.raises(InputError, match="of its own"):
        with_reranker(with_reranker(THREE_FIXES, Told(failing)), Told(failing))


def test_words_alike_score_higher_and_another_model_gives_none(sample: MemoryIndex, toy: MemoryIndex) -> None:
    late = LateReranker(LocalEmbedder(), {})
    near, far = late.scores("rear hub of the bike", ["The hub of the rear wheel", "A recipe for soup"])
    assert 1 >= near > far + 0.2
    assert np.isnan(search(QUESTION, with_reranker(THREE_FIXES, LateOfIndex()), toy).scores).all()
    trace = search("rear hub of the bike", with_reranker(THREE_FIXES, LateOfIndex()), sample)
    assert trace.notes == ()
    assert np.diff(trace.scores[trace.order][:6]).max() <= 0


# What a person types


def test_each_form_gives_its_reranker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sk-topsecret")
    assert reranker_named("cross-encoder:some/model") == LocalCrossEncoder("some/model")
    remote, judge = reranker_named(REMOTE), reranker_named(REMOTE.replace("cohere", "judge"))
    assert isinstance(remote, RemoteReranker)
    assert isinstance(judge, JudgeReranker)
    assert (remote.service.model, remote.service.base_url) == ("some/model", "http://127.0.0.1:9/v2")
    assert remote.service.key == "sk-topsecret"
    assert isinstance(reranker_named("late"), LateOfIndex)


def test_a_key_is_in_no_text_of_a_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sk-topsecret")
    pipeline = with_reranker(THREE_FIXES, reranker_named(REMOTE))
    assert "topsecret" not in f"{pipeline} {pipeline!r} {parameters(pipeline['rerank'])}"


@pytest.mark.parametrize(
    "text",
    [
        "", "cohere", "cohere:", "cohere:m", "cohere:@http://h/v2", "late:x", "cross-encoder", "llm:m@http://h",
        "cohere:m@http://", "cohere:m@http://h:99999", "cohere:m@http://user:topsecret@h/v2",
        "judge:m@https://h/v2?key=topsecret", "cohere:m@httpx://topsecret@h",
    ],
)  # fmt: skip
def test_another_text_is_refused_without_repeating_what_may_be_a_secret(text: str) -> None:
    with pytest.raises(InputError) as found:
        reranker_named(text)
    assert "topsecret" not in str(found.value)


def test_the_parameters_of_a_reranker_can_be_set() -> None:
    pipeline = with_reranker(THREE_FIXES, reranker_named(REMOTE))
    stage = with_settings(pipeline, ["rerank.count=5", "rerank.reranker.service.seconds=2"])["rerank"]
    assert isinstance(stage, Rerank)
    assert isinstance(stage.reranker, RemoteReranker)
    assert (stage.count, stage.reranker.service.seconds) == (5, 2)


def test_the_command_keeps_the_fused_order_and_says_why(
    sample: MemoryIndex, tmp_path: Path, run: Run
) -> None:
    at = ("--memory", SAMPLE, "--system", THREE_FIXES.name, "--rerank", REMOTE)
    assert "the fused order is kept" in run("search", "rear hub", *at, "--json").json()["notes"][0]
    asked = tmp_path / "asked.yaml"
    asked.write_text("questions: [{question: rear hub, target: memory/projects/cargo-bike.md}]\n", "utf-8")
    plain, reranked = run("evaluate", *at, "--questions", asked, "--json").json()
    assert reranked["system"] == f"{plain['system']}+rerank"
    assert reranked["paired"]["difference"] == 0
