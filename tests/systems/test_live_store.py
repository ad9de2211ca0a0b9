"""OpenClaw's own file, read where it lies: the same numbers as ours, nothing written, nobody kept waiting."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from tests import world
from tests.memory.test_crash import as_nobody
from tests.openclaw_store import FORMS, NAMES, OpenClaw, notes_of, writing
from workbench.errors import InputError, WorkbenchError
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded
from workbench.memory.index import MemoryIndex
from workbench.memory.store.contract import DamagedError
from workbench.records import Trace
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench.systems.catalogue import SYSTEMS
from workbench.systems.openclaw import SHIPPED
from workbench_plugins.openclaw.live_index import LiveIndex, open_live_store, stored_vector

RECORDS = Path(__file__).parent.parent / "records"
QUESTIONS = ("tea in the afternoon", "the hub of the bike", "disk backup")


@pytest.fixture(params=FORMS)
def openclaw(request: pytest.FixtureRequest, tmp_path: Path) -> OpenClaw:
    """The notes of `world` in OpenClaw's file, in each of its forms."""
    return OpenClaw(tmp_path / "state" / "main.sqlite", FORMS[request.param]).create()


@pytest.fixture(params=FORMS, scope="module")
def resting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveIndex]:
    """The same, open, and not to be changed."""
    file = tmp_path_factory.mktemp("resting") / "main.sqlite"
    with opened(OpenClaw(file, FORMS[request.param]).create()) as live:
        yield live


@pytest.fixture
def february(tmp_path: Path) -> OpenClaw:
    return OpenClaw(tmp_path / "state" / "main.sqlite").create()


def opened(openclaw: OpenClaw) -> LiveIndex:
    return open_live_store(openclaw.file, world.EMBEDDER)


def numbers(trace: Trace) -> list[tuple[str, str, float]]:
    return [
        (one.chunk.id, one.chunk.location, pytest.approx(one.score, nan_ok=True)) for one in trace.candidates
    ]


# the same answers


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_system_answers_as_on_our_own_index(system: str, resting: LiveIndex, toy: MemoryIndex) -> None:
    for question in QUESTIONS:
        there, here = (search(question, SYSTEMS[system], index) for index in (resting, toy))
        assert numbers(there) == numbers(here)
        assert there.paths() == here.paths()


def test_an_explanation_is_the_one_of_our_own_index(resting: LiveIndex, toy: MemoryIndex) -> None:
    there, here = (
        explain(search("a cup of tea", SHIPPED, index), index, "memory/both.md") for index in (resting, toy)
    )
    assert there.fate == here.fate
    assert [one.leg_ranks for one in there.verdicts] == [one.leg_ranks for one in here.verdicts]


def test_whole_documents_are_put_together_from_their_chunks(tmp_path: Path) -> None:
    text = "\n".join(f"line {number}" for number in range(400))
    with opened(OpenClaw(tmp_path / "a.sqlite").create({"long.md": text, "short.md": "one"})) as live:
        assert live.rows_of("long.md").size > 1
        assert [(one.path, one.text) for one in live.documents()] == [("long.md", text), ("short.md", "one")]


# nothing is written


def test_neither_the_file_nor_its_folder_changes(openclaw: OpenClaw) -> None:
    before = openclaw.beside
    with opened(openclaw) as live:
        for question in QUESTIONS:
            search(question, SHIPPED, live)
            assert openclaw.beside == before
    assert openclaw.beside == before


@pytest.mark.parametrize("form", ["2026.2 in WAL mode", "2026.9"])
def test_what_a_running_openclaw_has_in_its_wal_is_seen(form: str, tmp_path: Path) -> None:
    openclaw = OpenClaw(tmp_path / "state" / "main.sqlite", FORMS[form]).create()
    with openclaw.opened() as db:
        openclaw.write(db, "memory/new.md", "a cup of tea")
        before = set(openclaw.beside)
        with opened(openclaw) as live:
            assert live.rows_of("memory/new.md").size == 1
        assert set(openclaw.beside) == before


@pytest.mark.parametrize("form", FORMS)
def test_a_folder_that_cannot_be_written_is_read(form: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        openclaw = OpenClaw(Path(name) / "state" / "main.sqlite", FORMS[form]).create()
        openclaw.file.chmod(0o444)
        openclaw.file.parent.chmod(0o555)
        before = openclaw.beside
        with as_nobody(), opened(openclaw) as live:
            assert len(search("a cup of tea", SHIPPED, live).chunks) == 6
        openclaw.file.parent.chmod(0o755)
        assert openclaw.beside == before


# OpenClaw runs meanwhile


def test_a_change_is_seen_by_the_next_search(openclaw: OpenClaw) -> None:
    with opened(openclaw) as live:
        assert live.size == 6
        with openclaw.opened() as db:
            openclaw.write(db, "memory/new.md", "a cup of rooibos tea")
        assert live.size == 7
        assert "memory/new.md" in search("cup rooibos", SHIPPED, live).paths()


def test_a_file_that_a_new_one_replaces_is_followed(openclaw: OpenClaw) -> None:
    with opened(openclaw) as live:
        assert live.size == 6
        fresh = OpenClaw(openclaw.file.with_name("main.sqlite.tmp"), openclaw.form).create({"a.md": "tea"})
        fresh.file.replace(openclaw.file)
        assert live.size == 1


def test_another_model_in_the_meantime_is_an_error_and_no_mixture(openclaw: OpenClaw) -> None:
    with opened(openclaw) as live:
        search("tea", SHIPPED, live)
        with openclaw.opened() as db:
            openclaw.describe(db, json.dumps({"provider": "openai", "model": "text-embedding-3-small"}))
        with pytest.raises(
            InputError, match="now come from openai/text-embedding-3-small, no longer from toy"
        ):
            search("tea", SHIPPED, live)


@dataclass
class WritingMeanwhile:
    """The toy embedder; while it embeds, OpenClaw writes, and does not wait for anybody."""

    openclaw: OpenClaw
    name: str = "toy"
    revision: str = world.EMBEDDER.revision
    dimensions: int = 3
    written: int = 0

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        with self.openclaw.opened(busy_seconds=0) as db:
            self.openclaw.write(db, f"memory/{self.written}.md", "a cup of tea")
        self.written += 1
        return world.EMBEDDER.embed(texts, role)


def test_a_writer_is_not_kept_waiting_while_a_question_is_embedded(openclaw: OpenClaw) -> None:
    with open_live_store(openclaw.file, WritingMeanwhile(openclaw)) as live, live.snapshot():
        trace = search("tea", SHIPPED, live)
        assert explain(trace, live, "memory/0.md").verdicts[0].chunk.path == "memory/0.md"
        assert live.size == 7


def test_a_writer_does_not_wait_for_decoding(openclaw: OpenClaw, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    def decoded(value: object) -> object:
        written.append(f"memory/{len(written)}.md")
        if len(written) < 3:
            with openclaw.opened(busy_seconds=0) as db:
                openclaw.write(db, written[-1], "a cup of tea")
        return stored_vector(value)

    monkeypatch.setattr("workbench_plugins.openclaw.live_index.stored_vector", decoded)
    with opened(openclaw) as live:
        assert live.vector(live.embed("tea"), 99).rows.size == live.size == 8


@pytest.mark.parametrize("comes_and_goes", ["no", "yes"])
@pytest.mark.parametrize("form", FORMS)
def test_200_searches_see_no_torn_state(form: str, comes_and_goes: str, tmp_path: Path) -> None:
    file = tmp_path / "state" / "main.sqlite"
    openclaw, seen, searches = OpenClaw(file, FORMS[form]).create(notes_of(0)), set(), 0
    with writing(file, form, comes_and_goes), opened(openclaw) as live:
        while searches < 200 or len(seen) < 20:
            trace = search("tea hub", SHIPPED.asking(limit=50), live)
            (version,) = {chunk.text[-5:] for chunk in trace.chunks}
            assert [leg.hits.rows.size for leg in trace.legs.values()] == [len(NAMES)] * 2
            seen.add(version)
            searches += 1


def test_what_was_at_rest_and_changes_within_a_search_is_not_answered_from(tmp_path: Path) -> None:
    openclaw = OpenClaw(tmp_path / "main.sqlite", FORMS["2026.9"]).create()
    changed = pytest.raises(InputError, match=r"changed .* while it was being read")
    with opened(openclaw) as live:
        with changed, live.snapshot(), openclaw.opened() as db:
            live.rows_of("MEMORY.md")
            openclaw.write(db, "memory/new.md", "tea")
        assert live.size == 7


# what is no such file


def refused(file: Path) -> str:
    with pytest.raises(WorkbenchError) as error:
        open_live_store(file, world.EMBEDDER)
    return str(error.value)


def test_what_is_no_openclaw_memory_is_named(tmp_path: Path, toy: MemoryIndex) -> None:
    notes, missing = tmp_path / "notes.txt", tmp_path / "main.sqlite"
    notes.write_text("# Notes\n" * 500)
    assert f"{notes} is not a SQLite file" in refused(notes)
    assert f"There is no file {missing}" in refused(missing)
    assert "is not an OpenClaw memory" in refused(toy.store.path)


@pytest.mark.parametrize("sql", ["SELECT 1", "CREATE TABLE meta (key, value); CREATE TABLE chunks (id)"])
def test_another_sqlite_file_is_no_openclaw_memory(sql: str, tmp_path: Path) -> None:
    file = tmp_path / "history.sqlite"
    db = apsw.Connection(str(file))
    db.execute(sql)
    db.close()
    assert "is not an OpenClaw memory: it does not have its tables.\n  Give OpenClaw's file" in refused(file)


@pytest.mark.parametrize(
    ("change", "description"),
    [
        ("UPDATE meta SET key = 'memory_index_meta_v2'", "it describes itself as memory_index_meta_v2"),
        ("ALTER TABLE chunks RENAME COLUMN embedding TO vector", "its table chunks has no column embedding"),
        ("ALTER TABLE files DROP COLUMN source", "its table files has no column source"),
    ],
)
def test_a_layout_that_is_not_known_is_said(change: str, description: str, february: OpenClaw) -> None:
    with february.opened() as db:
        db.execute(change)
    assert f"comes from an OpenClaw release that is not supported: {description}" in refused(february.file)


@pytest.mark.parametrize("release", ["2026.2.12", "2026.9.6"])
def test_a_store_as_a_release_wrote_it_is_read_with_all_that_lies_beside_its_tables(
    release: str, tmp_path: Path
) -> None:
    """Names of virtual tables of vectors, and of triggers, begin with that of a table that is read."""
    file = tmp_path / "main.sqlite"
    file.write_bytes(gzip.decompress((RECORDS / f"odd-{release}.sqlite.gz").read_bytes()))
    with open_live_store(file, world.EMBEDDER, re_embed=True, index_path=tmp_path / "own.sqlite") as live:
        assert live.store.made_with.model == "text-embedding-3-small"
        assert live.store.full_text
        assert len(live.stamps()) > 20


@pytest.mark.parametrize(
    "forged",
    [
        'DROP TABLE "{}"; CREATE VIEW "{}" AS SELECT 1',
        'DROP TABLE "{}"; CREATE VIRTUAL TABLE "{}" USING fts5(a)',
        'ALTER TABLE "{}" ADD COLUMN slow AS (hex(zeroblob(9)))',
    ],
)
@pytest.mark.parametrize("part", ["chunks_fts_content", "CHUNKS_FTS_CONTENT"])
def test_a_part_of_full_text_that_runs_sql_when_it_is_read_is_refused(
    forged: str, part: str, february: OpenClaw
) -> None:
    with february.opened() as db:
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        db.execute(forged.replace("{}", part))
    assert "comes from an OpenClaw release that is not supported: chunks_fts has" in refused(february.file)


@pytest.mark.parametrize("value", [None, "{", "[]", "{}", '{"provider": "openai"}'])
def test_a_store_that_names_no_model_is_not_indexed_whole(value: str | None, february: OpenClaw) -> None:
    with february.opened() as db:
        if value is None:
            db.execute("DELETE FROM meta")
        else:
            february.describe(db, value)
    assert "does not name its model" in refused(february.file)


def test_a_damaged_file_is_said_with_the_remedy(tmp_path: Path) -> None:
    notes = {f"{number}.md": f"tea {number} " * 200 for number in range(60)}
    openclaw = OpenClaw(tmp_path / "main.sqlite").create(notes)
    content = bytearray(openclaw.file.read_bytes())
    content[4096 * 8 :] = b"\xa5" * (len(content) - 4096 * 8)
    openclaw.file.write_bytes(content)
    damaged = pytest.raises(DamagedError, match=r"is damaged: .*\n  Let OpenClaw")
    with damaged, opened(openclaw) as live:
        search("tea", SHIPPED, live)


def test_an_interrupted_write_is_not_undone_by_a_reader(february: OpenClaw, tmp_path: Path) -> None:
    copied = tmp_path / "copied"
    copied.mkdir()
    with february.opened() as db:
        db.pragma("cache_size", 1)
        db.execute("BEGIN IMMEDIATE")
        for number in range(200):
            february.write(db, f"memory/{number}.md", "tea " * 300)
        for name, content in february.beside.items():
            (copied / name).write_bytes(content)
        db.execute("ROLLBACK")
    before = {one.name: one.read_bytes() for one in copied.iterdir()}
    assert "cannot be read without writing to it" in refused(copied / "main.sqlite")
    assert {one.name: one.read_bytes() for one in copied.iterdir()} == before


def test_a_writer_that_never_ends_is_named(february: OpenClaw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench_plugins.openclaw.live_index.BUSY_SECONDS", 0.1)
    with february.opened() as db:
        db.execute("BEGIN EXCLUSIVE")
        assert "Another process has been writing to the store" in refused(february.file)
        db.execute("ROLLBACK")
