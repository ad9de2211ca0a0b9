"""OpenClaw's file and its model: asked where it can be, and otherwise ours, in an index of our own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests import world
from tests.commands import Run
from tests.fault_server import DIMENSIONS, KEY, serving, vector
from tests.home import Watched
from tests.openclaw_store import OpenClaw
from tests.world import written
from workbench.errors import InputError
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded, LocalEmbedder, unit
from workbench.memory.index import MemoryIndex
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED
from workbench_plugins.openclaw.live_index import LiveIndex, open_live_store

LARGE = {"provider": "openai", "model": "text-embedding-3-large"}
QUESTION = "rooibos in the afternoon"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def openclaw(tmp_path: Path) -> OpenClaw:
    return OpenClaw(tmp_path / "state" / "main.sqlite").create()


@pytest.fixture
def of_large(tmp_path: Path) -> OpenClaw:
    """The notes of `world` under a model that cannot be asked here."""
    return OpenClaw(tmp_path / "state" / "main.sqlite", **LARGE).create()


def re_embedded(openclaw: OpenClaw, embedder: Watched) -> LiveIndex:
    ours = openclaw.file.parent.parent / "cache" / "ours.sqlite"
    return open_live_store(openclaw.file, embedder, re_embed=True, index_path=ours)


# the model that it names


def test_a_model_that_cannot_be_asked_is_named_with_the_remedy(of_large: OpenClaw) -> None:
    with pytest.raises(InputError) as error:
        open_live_store(of_large.file)
    assert "openai/text-embedding-3-large: OPENAI_API_KEY is not set" in error.value.problem
    assert "--re-embed" in error.value.remedy


def test_a_local_model_that_is_not_ours_is_named(tmp_path: Path) -> None:
    model = "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf"
    openclaw = OpenClaw(tmp_path / "main.sqlite", model=model).create()
    with pytest.raises(InputError, match=r"embeddinggemma-300M-Q8_0[.]gguf: that model is not on"):
        open_live_store(openclaw.file)


def test_a_store_that_has_keywords_alone_says_so(tmp_path: Path) -> None:
    openclaw = OpenClaw(tmp_path / "main.sqlite", provider="none", model="fts-only").create()
    with pytest.raises(InputError, match="has no vectors: it was indexed for keywords only"):
        open_live_store(openclaw.file)
    with re_embedded(openclaw, Watched()) as live:
        assert "it has no vectors; re-embedded with toy" in live.remarks[0]


def test_an_embedder_of_another_name_is_refused(of_large: OpenClaw) -> None:
    with pytest.raises(InputError, match="text-embedding-3-large: toy makes other vectors"):
        open_live_store(of_large.file, world.EMBEDDER)


def test_a_question_is_embedded_once_and_nothing_else_is(openclaw: OpenClaw) -> None:
    embedder = Watched()
    with open_live_store(openclaw.file, embedder) as live:
        for _ in range(3):
            search(QUESTION, SHIPPED, live)
        assert (embedder.asked, live.remarks) == ([[QUESTION]], [])


class AsServed:
    """What the fault server would answer, without asking it."""

    name, revision, dimensions = "text-embedding-3-large", "", DIMENSIONS

    def embed(self, texts: list[str], role: Role) -> Embedded:
        return Embedded(unit(np.array([vector(text) for text in texts])), np.ones(len(texts)))


def test_a_provider_is_asked_for_the_question_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    openclaw = OpenClaw(tmp_path / "main.sqlite", **LARGE, embedder=AsServed()).create()
    described = {**LARGE, "vectorDims": DIMENSIONS}
    with openclaw.opened() as db:
        openclaw.describe(db, json.dumps(described))
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/openai/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        with open_live_store(openclaw.file) as live:
            best = live.vector(live.embed(world.NOTES["memory/tea.md"]), 1)
            assert live.chunks(best.rows)[0].path == "memory/tea.md"
            assert best.raw == pytest.approx([0.0], abs=1e-6)
        assert [(one.texts, one.body["model"]) for one in server.requests] == [
            ([world.NOTES["memory/tea.md"]], LARGE["model"])
        ]


def test_a_question_of_other_dimensions_is_an_error(openclaw: OpenClaw) -> None:
    refused = pytest.raises(InputError, match=r"has 4 dimensions, but those of .* have 3")
    with open_live_store(openclaw.file, world.EMBEDDER) as live, refused:
        live.vector(np.ones(4, np.float32), 1)


# what it lacks


BAD = {
    "no JSON": "[0.1, 0.2",
    "no list": '{"a": 1}',
    "no numbers": '["a", "b", "c"]',
    "no vector": "[[1, 0, 0]]",
    "empty": "[]",
    "not finite": "[NaN, 0, 1]",
    "too large": "[1e300, 0, 1]",
    "other dimensions": "[1, 0]",
    "odd bytes": b"1234567",
    "too deep": "[" * 100_000,
}


@pytest.mark.parametrize("kind", BAD)
def test_an_unusable_vector_is_reported_and_the_rest_is_searched(kind: str, openclaw: OpenClaw) -> None:
    with openclaw.opened() as db:
        db.execute("UPDATE chunks SET embedding = ? WHERE path = 'memory/tea.md'", (BAD[kind],))
    with open_live_store(openclaw.file, world.EMBEDDER) as live:
        (remark,) = live.remarks
        assert "1 of 6 chunks have no usable vector, memory/tea.md:1-3 is the first" in remark
        trace = search("a cup of tea", SYSTEMS["openclaw-2026.2.13+or"], live)
        assert (live.size, trace.legs["vector"].hits.rows.size) == (6, 5)
        assert "memory/tea.md" in {chunk.path for chunk in trace.chunks}


def test_without_any_usable_vector_the_keyword_leg_still_answers(openclaw: OpenClaw) -> None:
    with openclaw.opened() as db:
        db.execute("UPDATE chunks SET embedding = '[]'")
    with open_live_store(openclaw.file, world.EMBEDDER) as live:
        trace = search("rooibos", SHIPPED, live)
        assert {name: leg.hits.rows.size for name, leg in trace.legs.items()} == {"keyword": 2, "vector": 0}


def test_without_a_full_text_index_the_keyword_leg_is_empty_and_said_to_be(tmp_path: Path) -> None:
    openclaw = OpenClaw(tmp_path / "main.sqlite").create(full_text=False)
    with open_live_store(openclaw.file, world.EMBEDDER) as live:
        trace = search("rooibos", SHIPPED, live)
        assert {name: leg.hits.rows.size for name, leg in trace.legs.items()} == {"keyword": 0, "vector": 6}
        assert live.remarks == [
            f"{openclaw.file} has no full-text index that SQLite can search: the keyword leg is empty."
        ]


def test_chunks_of_other_models_are_left_out_of_both_legs(openclaw: OpenClaw) -> None:
    with openclaw.opened() as db:
        for table in ("chunks", "chunks_fts"):
            db.execute(f"UPDATE {table} SET model = 'older' WHERE path = 'memory/tea.md'")
    with open_live_store(openclaw.file, world.EMBEDDER) as live:
        trace = search("rooibos tea", SHIPPED, live)
        assert "memory/tea.md" not in {chunk.path for chunk in trace.chunks}
        assert live.size == len(trace.chunks) == 5
        assert live.remarks == [f"{openclaw.file}: chunks of other models are left out: 1."]


def test_a_chunk_with_two_rows_in_the_full_text_index_is_one_hit(openclaw: OpenClaw) -> None:
    with openclaw.opened() as db:
        db.execute("INSERT INTO chunks_fts SELECT * FROM chunks_fts WHERE path = 'memory/tea.md'")
    with open_live_store(openclaw.file, world.EMBEDDER) as live:
        hits = live.keyword(written('"rooibos"'), 10)
        assert sorted(chunk.path for chunk in live.chunks(hits.rows)) == ["MEMORY.md", "memory/tea.md"]


# our own vectors


def test_re_embedded_it_answers_as_our_own_index_and_says_so(of_large: OpenClaw, toy: MemoryIndex) -> None:
    with re_embedded(of_large, Watched()) as live:
        there, here = (search(QUESTION, SHIPPED, index) for index in (live, toy))
        # A chunk's id names its model, and orders what has the same score.
        assert {one.chunk.location: one.score for one in there.candidates} == pytest.approx(
            {one.chunk.location: one.score for one in here.candidates}
        )
        (remark,) = live.remarks
        assert "its vectors come from openai/text-embedding-3-large; re-embedded with toy" in remark


def test_what_has_been_embedded_is_not_embedded_again(of_large: OpenClaw) -> None:
    first, second = Watched(), Watched()
    for embedder in (first, second):
        with re_embedded(of_large, embedder) as live:
            search(QUESTION, SHIPPED, live)
    assert sorted(len(asked) for asked in first.asked) == [1, 6]
    assert second.asked == []


def test_a_change_costs_what_is_new_in_it(of_large: OpenClaw) -> None:
    embedder = Watched()
    with re_embedded(of_large, embedder) as live:
        assert live.size == 6
        embedder.asked.clear()
        with of_large.opened() as db:
            of_large.write(db, "memory/new.md", "a bike")
            of_large.write(db, "memory/copy.md", world.NOTES["memory/tea.md"])
        assert live.vector(np.array([0, 1, 0], np.float32), 99).rows.size == 8
        assert embedder.asked == [["a bike"]]


def test_our_vectors_are_neither_beside_its_file_nor_in_it(of_large: OpenClaw) -> None:
    before = of_large.beside
    with re_embedded(of_large, Watched()) as live:
        search(QUESTION, SHIPPED, live)
    with pytest.raises(InputError, match="belongs to OpenClaw, and the workbench does not write to it"):
        open_live_store(of_large.file, Watched(), re_embed=True, index_path=of_large.file)
    assert of_large.beside == before


class AlwaysMore(Watched):
    """While it embeds, OpenClaw indexes yet another note, and waits for nobody."""

    openclaw: OpenClaw

    def embed(self, texts: list[str], role: Role) -> Embedded:
        with self.openclaw.opened(busy_seconds=0) as db:
            self.openclaw.write(db, "memory/new.md", f"tea {len(self.asked)}")
        return super().embed(texts, role)


def test_a_store_that_changes_faster_than_it_can_be_embedded_is_an_error(of_large: OpenClaw) -> None:
    embedder = AlwaysMore()
    embedder.openclaw = of_large
    with (
        re_embedded(of_large, embedder) as live,
        pytest.raises(InputError, match="changes faster than it can be read"),
    ):
        assert live.size


# on the command line


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    return run


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> OpenClaw:
    """A store of the packaged model."""
    file = tmp_path_factory.mktemp("ours") / "main.sqlite"
    return OpenClaw(file, model="all-MiniLM-L6-v2", embedder=LocalEmbedder()).create()


def test_search_compare_and_explain_take_openclaws_file(run: Run, ours: OpenClaw) -> None:
    found = run("search", QUESTION, "--memory", ours.file, "--json")
    assert (found.code, found.err, found.json()["results"][0]["path"]) == (0, "", "memory/tea.md")
    explained = run("explain", QUESTION, "--target", "memory/tea.md", "--memory", ours.file, "--json")
    assert explained.json()["fate"] == "returned"
    names = ["openclaw-2026.2.13", "openclaw-2026.9.6"]
    both = run("compare", *names, "--question", QUESTION, "--memory", ours.file, "--json")
    assert [one["system"] for one in both.json()] == names


def test_evaluate_asks_it_labelled_questions(run: Run, ours: OpenClaw, tmp_path: Path) -> None:
    questions = tmp_path / "questions.yaml"
    asked = (
        "questions: [{{question: rooibos in the afternoon, target: {}, kind: direct}}]\ncontrols: [zyzzyva]"
    )
    options = ["--questions", questions, "--memory", ours.file, "--system", "openclaw-2026.2.13", "--json"]
    questions.write_text(asked.format("memory/tea.md"))
    (evaluation,) = run("evaluate", *options).json()
    assert evaluation["hits"] == 1
    questions.write_text(asked.format("memory/te.md"))
    outcome = run("evaluate", *options)
    assert (outcome.code, "The nearest is memory/tea.md" in outcome.err) == (2, True)


def test_re_embed_is_the_remedy_that_the_error_names(run: Run, of_large: OpenClaw, tmp_path: Path) -> None:
    refused = run("search", QUESTION, "--memory", of_large.file)
    assert (refused.code, "--re-embed" in refused.err) == (2, True)
    found = run("search", QUESTION, "--memory", of_large.file, "--re-embed")
    assert found.code == 0
    assert "text-embedding-3-large; re-embedded with all-MiniLM-L6-v2" in found.err
    assert len(list((tmp_path / "home").glob("main.sqlite-*.sqlite"))) == 1


def test_doctor_looks_at_openclaws_file(run: Run, ours: OpenClaw, of_large: OpenClaw) -> None:
    fine, not_fine = (
        next(one for one in run("doctor", "--memory", file, "--json").json() if one["what"] == "index")
        for file in (ours.file, of_large.file)
    )
    assert fine["fine"]
    assert fine["says"].endswith("an OpenClaw store, 6 files, 6 chunks, all-MiniLM-L6-v2.")
    assert not not_fine["fine"]
