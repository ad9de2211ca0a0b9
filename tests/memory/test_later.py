"""An index that leaves the vectors of its chunks for later: the same answers, each vector computed once."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tests import world
from tests.home import Home, Watched
from workbench.memory.embedding import cache as cached_embedding
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded, LocalEmbedder, Truncated
from workbench.memory.index import MemoryIndex
from workbench.memory.store.contract import DamagedError
from workbench.memory.store.sqlite.store import Store
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import system
from workbench_plugins.agent.tools import AgentTools
from workbench_plugins.doctor.faults import faults, held_by

BY_CHUNK = "openclaw-2026.2.13-vector-only"
TEXTS = sorted(text.rstrip("\n") for text in world.NOTES.values())


@dataclass
class Counted(LocalEmbedder):
    """The packaged model, keeping the chunks that it has embedded, and interrupted at the call `stops_at`."""

    stops_at: int = 1 << 30
    chunks: list[str] = field(default_factory=list)

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        if role == "passage":
            self.stops_at -= 1
            if not self.stops_at:
                raise KeyboardInterrupt
            self.chunks += [text.rstrip("\n") for text in texts]
        return super().embed(texts, role)


@pytest.fixture
def later(tmp_path: Path) -> Home:
    """The six notes, indexed without a vector."""
    home = Home(world.write(tmp_path / "memory_of_wren"), tmp_path / "index" / "i.sqlite")
    model = Counted()
    summary = home.sync(model, vectors_later=True)
    assert (summary.embedded, summary.from_cache, summary.later, model.chunks) == (0, 0, 6, [])
    assert str(summary).startswith("6 new, 0 changed, 0 deleted, 0 unchanged; 0 chunks embedded")
    return home


def answer(index: MemoryIndex, name: str = BY_CHUNK) -> list[tuple[str, float]]:
    found = search("who has a bicycle", system(name).asking(min_score=0.0), index)
    return [(one.chunk.id, one.score) for one in found.results]


def test_the_answers_are_those_of_an_index_with_vectors(later: Home, tmp_path: Path) -> None:
    whole = Home(later.root, tmp_path / "whole" / "i.sqlite")
    assert whole.sync(LocalEmbedder()).embedded == 6
    with later.opened(LocalEmbedder()) as index, whole.opened(LocalEmbedder()) as other:
        assert answer(index) == answer(other) != []
        rows, vectors = index.vectors()
        same, expected = other.vectors()
    assert rows.tolist() == same.tolist()
    np.testing.assert_array_equal(vectors, expected)


def test_a_vector_is_computed_once_and_goes_with_its_text(later: Home) -> None:
    for model, texts in ((Counted(), TEXTS), (Counted(), [])):
        with later.opened(model) as index:
            answer(index)
        assert sorted(model.chunks) == texts
    world.write(later.root, {"memory/tea.md": "A new tea."})
    (later.root / "memory" / "plain.md").unlink()
    model = Counted()
    assert later.sync(model, vectors_later=True).later == 1
    with later.opened(model) as index:
        answer(index)
    assert model.chunks == ["A new tea."]
    with Store.open(later.file) as store:
        assert store.db.execute("SELECT count(*) FROM embedding_cache WHERE role = 'passage'").get == 5
    summary = later.sync(model, vectors_later=True, rebuild=True)
    assert (summary.from_cache, summary.later) == (5, 0)


def test_recommended_compares_passages_and_embeds_no_chunk(later: Home) -> None:
    with later.opened(model := Counted()) as index:
        found = search("who has a bicycle", system("recommended"), index)
        assert found.legs["vector"].hits.rows.size == 6
        assert model.chunks == []


def test_an_interruption_keeps_what_was_computed(later: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached_embedding, "TEXTS_IN_FLIGHT", 2)
    with later.opened(model := Counted(stops_at=3)) as index, pytest.raises(KeyboardInterrupt):
        answer(index)
    assert len(model.chunks) == 4
    with later.opened(other := Counted()) as index:
        answer(index)
    assert sorted(model.chunks + other.chunks) == TEXTS


def test_a_file_that_cannot_be_written_is_searched_all_the_same(
    later: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    with later.opened(LocalEmbedder()) as index:
        expected = answer(index)
    home = Home(later.root, later.file.parent.with_name("other") / "i.sqlite")
    home.sync(LocalEmbedder(), vectors_later=True)
    monkeypatch.setattr(Store, "writable", property(lambda _: False))
    with home.opened(model := Counted()) as index:
        assert answer(index) == expected
    assert sorted(model.chunks) == TEXTS
    with Store.open(home.file) as store:
        assert store.db.execute("SELECT count(*) FROM embedding_cache WHERE role = 'passage'").get == 0


def test_the_doctor_finds_no_fault(later: Home) -> None:
    with later.opened(LocalEmbedder()) as index:
        held = held_by(index)
        assert held is not None
        assert not any(vector.size for vector in held.vectors)
        assert faults(held, index.embedder) == []


def test_a_later_sync_with_vectors_stores_those_of_new_files(later: Home) -> None:
    world.write(later.root, {"memory/tea.md": "A new tea."})
    assert later.sync(LocalEmbedder()).embedded == 1
    with later.opened(model := Counted()) as index:
        assert index.store.matrix()[0].size == 1
        answer(index)
    assert len(model.chunks) == 5


def test_a_truncated_reading_says_what_it_will_leave_out(tmp_path: Path) -> None:
    shares = []
    for later in (False, True):
        root = world.write(tmp_path / f"m{later}", {"MEMORY.md": "tea " * 300})
        home = Home(root, tmp_path / f"{later}" / "i.sqlite")
        home.sync(LocalEmbedder(reading=Truncated()), vectors_later=later)
        with Store.open(home.file) as store:
            shares.append([one.read_share for one in store.chunks(store.rows_of("MEMORY.md"))])
    assert shares[0] == shares[1]
    assert min(shares[0]) < 1


def test_another_embedder_leaves_nothing_for_later(tmp_path: Path) -> None:
    home = Home(world.write(tmp_path / "m"), tmp_path / "index" / "i.sqlite")
    assert home.sync(Watched(), vectors_later=True).embedded == 6


def test_a_vector_that_is_lost_is_still_a_damage(later: Home, tmp_path: Path) -> None:
    home = Home(later.root, tmp_path / "whole" / "i.sqlite")
    home.sync(LocalEmbedder())
    shutil.copy(home.file, tmp_path / "copy.sqlite")
    with Store.open(tmp_path / "copy.sqlite") as store:
        store.db.execute("DELETE FROM chunks_vec WHERE chunk_id = 1")
        with pytest.raises(DamagedError):
            store.matrix()


def test_an_agent_waits_for_the_vectors_before_its_time_runs(
    later: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, known = Counted(), []

    def limited(_: MemoryIndex, __: float) -> nullcontext[None]:
        known.append(len(model.chunks))
        return nullcontext()

    monkeypatch.setattr(MemoryIndex, "time_limit", limited)
    with AgentTools(later.root, embedder=model, index_path=later.file) as tools:
        assert tools.memory_search("who has a cup of tea")["results"]
        world.write(later.root, {"memory/new.md": "A new cup."})
        later.sync(model, vectors_later=True)
        assert tools.memory_search("who has a new cup")["results"]
    assert known == [6, 7]


def test_the_vector_of_a_text_that_two_files_have_outlives_one_of_them(later: Home) -> None:
    shared = "Two notes have this sentence.\n"
    for name in ("a.md", "z.md"):
        (later.root / "memory" / name).write_text(shared, encoding="utf-8")
    later.sync(Counted(), vectors_later=True)
    first = Counted()
    with later.opened(first) as index:
        answer(index)
    assert shared.strip() in first.chunks
    (later.root / "memory" / "a.md").unlink()
    (later.root / "memory" / "b.md").write_text(shared, encoding="utf-8")
    later.sync(Counted(), vectors_later=True)
    again = Counted()
    with later.opened(again) as index:
        answer(index)
    assert again.chunks == []


def test_an_edited_file_leaves_the_vector_of_a_text_that_another_file_has(later: Home) -> None:
    shared = "Two notes have this sentence.\n"
    for name in ("a.md", "z.md"):
        (later.root / "memory" / name).write_text(shared, encoding="utf-8")
    later.sync(Counted(), vectors_later=True)
    with later.opened(Counted()) as index:
        answer(index)
    (later.root / "memory" / "z.md").write_text("Something else.\n", encoding="utf-8")
    later.sync(Counted(), vectors_later=True)
    again = Counted()
    with later.opened(again) as index:
        answer(index)
    assert again.chunks == ["Something else."]
