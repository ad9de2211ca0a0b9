"""A reranker decides the order of the first candidates; whatever it does wrong, the fused order is kept."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tests.told import Told, failing, saying, server
from workbench.errors import InputError, ProviderError
from workbench.memory.embedding.local import packaged_model
from workbench.memory.index import MemoryIndex
from workbench.records import Trace
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.openclaw import THREE_FIXES
from workbench_plugins.providers.reranking import JudgeReranker, LocalCrossEncoder, RemoteReranker, Service
from workbench_plugins.rerank import Rerank, Reranker, reranked_order

QUESTION = "rooibos tea"


def with_reranker(reranker: Reranker, count: int = 20) -> Pipeline:
    return THREE_FIXES.with_new_stage(Rerank(reranker, count), before="order").with_stage(reranked_order())


def paths(trace: Trace) -> list[str]:
    return [trace.chunks[row].path for row in trace.order.tolist()]


def fused(toy: MemoryIndex) -> list[str]:
    return paths(search(QUESTION, THREE_FIXES, toy))


def test_the_order_is_the_rerankers(toy: MemoryIndex) -> None:
    shortest = Told(lambda texts: [-len(text) for text in texts])
    trace = search(QUESTION, with_reranker(shortest), toy)
    lengths = [len(trace.chunks[row].text) for row in trace.order.tolist()]
    assert lengths == sorted(lengths)
    assert trace.notes == ()


def test_candidates_that_it_has_not_read_follow_in_their_fused_order(toy: MemoryIndex) -> None:
    backwards = Told(lambda texts: range(len(texts)))
    found = paths(search(QUESTION, with_reranker(backwards, count=2), toy))
    before = fused(toy)
    assert found == [before[1], before[0], *before[2:]]


@pytest.mark.parametrize(
    ("give", "said"),
    [
        (lambda texts: [1.0] * (len(texts) - 1), "scores for"),
        (lambda texts: [float("nan")] * len(texts), "nan"),
        (lambda texts: [float("inf")] * len(texts), "inf"),
        (lambda texts: ["good"] * len(texts), "no numbers"),
        (lambda _: None, "no numbers"),
        (failing, "it is down"),
    ],
    ids=["too few", "NaN", "infinite", "words", "nothing", "a failure"],
)
def test_the_fused_order_is_kept_when_it_fails(toy: MemoryIndex, give: Any, said: str) -> None:
    trace = search(QUESTION, with_reranker(Told(give)), toy)
    assert paths(trace) == fused(toy)
    (note,) = trace.notes
    assert "the fused order is kept" in note
    assert said in note


# Rerankers behind an address


def by_length(body: dict[str, Any]) -> tuple[int, Any]:
    assert body["path"] == "/v2/rerank"
    assert body["query"] == "q"
    scored = [{"index": place, "relevance_score": len(text)} for place, text in enumerate(body["documents"])]
    return 200, {"results": sorted(scored, key=lambda one: -one["relevance_score"])}


def test_a_remote_rerankers_scores_come_back_in_the_order_of_the_texts() -> None:
    with server(by_length) as address:
        assert RemoteReranker(Service(address, "m")).scores("q", ["aa", "b", "cccc"]) == [2, 1, 4]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (500, "broken"),
        (200, "<html>"),
        (200, "[" * 100_000),
        (200, {}),
        (200, {"results": []}),
        (200, {"results": [{"index": 0}]}),
    ],
    ids=["an error", "no JSON", "too deep", "no results", "too few", "no score"],
)
def test_a_remote_rerankers_bad_answer_is_an_error_that_names_it(status: int, said: Any) -> None:
    with server(lambda _: (status, said)) as address, pytest.raises(ProviderError, match="m at 127"):
        RemoteReranker(Service(address, "m")).scores("q", ["a"])


def test_a_service_that_repeats_the_key_does_not_bring_it_into_the_message() -> None:
    refused = server(lambda _: (401, "no such key: Bearer sk-topsecret"))
    with refused as address, pytest.raises(ProviderError) as found:
        RemoteReranker(Service(address, "m", "sk-topsecret")).scores("q", ["a"])
    assert "Bearer …" in str(found.value)
    assert "topsecret" not in str(found.value)


def test_a_remote_reranker_that_does_not_answer_in_time_is_an_error() -> None:
    waiting = threading.Event()

    def late(_: dict[str, Any]) -> tuple[int, Any]:
        waiting.wait(20)
        return 200, {}

    with server(late) as address:
        try:
            with pytest.raises(ProviderError, match="no answer within"):
                RemoteReranker(Service(address, "m", seconds=0.2)).scores("q", ["a"])
        finally:
            waiting.set()


def test_a_judges_numbers_are_the_scores() -> None:
    with server(saying("Here: [3, 9.5]")) as address:
        assert JudgeReranker(Service(address, "m")).scores("q", ["a", "b"]) == [3, 9.5]


@pytest.mark.parametrize("said", ["I cannot.", "[1]", '["a", "b"]', "[1, 2, 3]"])
def test_a_judge_that_rambles_is_an_error(said: str) -> None:
    with server(saying(said)) as address, pytest.raises(ProviderError, match="as judge"):
        JudgeReranker(Service(address, "m")).scores("q", ["a", "b"])


def test_an_address_of_another_kind_is_refused() -> None:
    with pytest.raises(InputError, match="not the address"):
        Service("file:///etc/passwd", "m")


# A cross-encoder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of random weights."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    folder = tmp_path_factory.mktemp("cross-encoder")
    tokenizer = AutoTokenizer.from_pretrained(str(packaged_model()))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, num_labels=1,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_cross_encoder_in_a_folder_reranks(toy: MemoryIndex, tiny: Path) -> None:
    model = LocalCrossEncoder(str(tiny))
    trace = search(QUESTION, with_reranker(model), toy)
    expected = model.scores(QUESTION, [chunk.text for chunk in trace.chunks])
    assert trace.notes == ()
    assert trace.columns["rerank_score"].tolist() == pytest.approx(expected, abs=1e-5)


def test_a_cross_encoder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no-such-model"):
        LocalCrossEncoder(str(tmp_path / "no-such-model")).scores("q", ["a"])
