"""Chunks of other sizes as a fix: tried on the same notes, verified, and nothing is left behind."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests import world
from tests.commands import Run
from tests.home import Home, Watched
from tests.lab.diagnose.claims import merged
from workbench.errors import InputError
from workbench.measure.questions import Control, Question, QuestionSet
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded
from workbench.memory.index import MemoryIndex
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sources import ChunkSizes, LineChunker, sizes_in
from workbench.memory.sync import index_folder
from workbench.retrieval.cutoff import MinScore
from workbench.retrieval.index_adapters import CachedIndex, IndexAdapter
from workbench.retrieval.pipeline import Pipeline, search
from workbench.systems.catalogue import INDEXINGS
from workbench.systems.openclaw import WORKAROUND
from workbench_plugins.diagnose.chunk_sizes import chunker_named, cut_index, rebuilt
from workbench_plugins.diagnose.diagnosis import Trials, diagnose
from workbench_plugins.diagnose.page import Diagnosis
from workbench_plugins.openclaw.config import read
from workbench_plugins.openclaw.sessions import Sessions
from workbench_plugins.providers.clients import Access
from workbench_plugins.providers.embedder import PROVIDERS, RemoteEmbedder

ASKED, TARGET = "rooibos", "memory/long.md"
BIKE = "The bike and its brake were at the shop once more today.\n" * 6
QUIET = "Nothing else was worth a line on that day, or so.\n" * 8
NOTES = {
    TARGET: f"{BIKE}{QUIET}A cup of rooibos .\n{QUIET}{BIKE}",
    "memory/tea.md": "# Tea\nA cup of tea .\n",
    "memory/bike.md": "# Bike\nThe bike has a hub and a brake .\n",
}
"""In a chunk of 1,600 characters, the line that answers shares its vector with the bike."""

LABELS = QuestionSet(
    questions=(Question(question=ASKED, target=TARGET), Question(question="tea", target="memory/tea.md")),
    controls=(Control(question="server disk"),),
)
NEARLY_TEA: Pipeline = WORKAROUND.with_stage(MinScore(0.8))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files."""
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


@pytest.fixture
def notes(tmp_path: Path) -> Home:
    """A memory of these notes, indexed in chunks of 400 tokens."""
    made = Home(world.write(tmp_path / "memory_of_wren", NOTES), tmp_path / "index.sqlite")
    made.sync()
    return made


@pytest.fixture
def index(notes: Home) -> Iterator[MemoryIndex]:
    with notes.opened(world.EMBEDDER) as opened:
        yield opened


class Listening(Watched):
    """Keeps the passages that it embeds; with a folder `leaves`, it is interrupted at the first of them."""

    def __init__(self, leaves: Path | None = None) -> None:
        super().__init__()
        self.batches: list[Sequence[str]] = []
        self.leaves = leaves

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        if role == "passage":
            self.batches.append(texts)
            if self.leaves is not None:
                assert list(self.leaves.iterdir())
                raise KeyboardInterrupt
        return super().embed(texts, role)

    @property
    def passages(self) -> list[str]:
        return [text for texts in self.batches for text in texts]


def tried(index: MemoryIndex, pipeline: Pipeline = NEARLY_TEA) -> Diagnosis:
    return diagnose(ASKED, pipeline, index, TARGET, trials=Trials(rechunk=True), questions=LABELS)


def test_a_smaller_chunk_that_brings_the_file_in_is_a_fix(index: MemoryIndex) -> None:
    assert TARGET not in search(ASKED, NEARLY_TEA, index).paths()
    found = tried(index)
    fixes = {one.value: one for one in found.fixes if one.chunks}
    assert "100/20" in fixes
    assert "800/160" not in fixes
    data = fixes["100/20"].as_json()
    assert (data["setting"], data["now"], data["fails"]) == ("chunking", "400/80", None)
    assert (data["verified"], data["paste"]) == (True, None)
    assert (data["hits_before"], data["hits_after"]) == (1, 2)
    assert (data["silent_before"], data["silent_after"]) == (1, 1)
    assert "hits: too few questions to tell" in data["verdict"]
    description = "Chunks of 100/20, 200/40 and 800/160 tokens were tried, and no others"
    assert description in found.as_json()["price"]["says"][-1]
    assert description in " ".join(found.text.split())


def test_the_fix_does_what_it_says_when_it_is_made(index: MemoryIndex) -> None:
    before = search(ASKED, NEARLY_TEA, index).paths()
    (fix,) = [one for one in tried(index).fixes if one.value == "100/20"]
    exec(compile(fix.as_json()["python"], "fix", "exec"), {"index": index})
    after = search(ASKED, NEARLY_TEA, index).paths()
    assert sizes_in(index.store.settings.chunker) == ChunkSizes(100, 20)
    assert set(after) - set(before) == {TARGET, *fix.gained}
    assert set(before) - set(after) == set(fix.lost)


def test_the_index_stays_as_it_is_and_the_temporary_ones_are_removed(
    index: MemoryIndex, tmp_path: Path, folder: Path
) -> None:
    before = index.generation, index.size, sorted(tmp_path.rglob("*"))
    tried(index)
    assert (index.generation, index.size, sorted(tmp_path.rglob("*"))) == before


def test_an_interruption_leaves_nothing_behind(notes: Home, folder: Path) -> None:
    with notes.opened(Listening(folder)) as index:
        with pytest.raises(KeyboardInterrupt):
            tried(index)
        assert index.size
    assert list(folder.iterdir()) == []


def test_texts_that_are_known_are_not_embedded_again(notes: Home) -> None:
    embedder = Listening()
    with notes.opened(embedder) as index:
        known = {chunk.text for chunk in index.chunks(index.vectors()[0])}
        tried(index)
    assert embedder.passages
    assert len(embedder.passages) == len(set(embedder.passages))
    # The doctor embeds a sample of the store again, at once; nothing else does.
    assert [set(texts) <= known for texts in embedder.batches if known & set(texts)] == [True]


def test_the_present_sizes_make_the_present_chunks_again(notes: Home, tmp_path: Path) -> None:
    said = {"type": "message", "message": {"role": "user", "content": "rooibos, please"}}
    lines = f"{json.dumps({'type': 'session'})}\n{json.dumps(said)}\n"
    notes.sync(sources=[Sessions(world.write(tmp_path / "logs", {"one.jsonl": lines}))])
    embedder = Watched()
    with notes.opened(embedder) as index, rebuilt(index, LineChunker(), "the same") as again:
        texts = [sorted(chunk.text for chunk in one.chunks(one.vectors()[0])) for one in (index, again)]
        assert texts[0] == texts[1]
        for path in NOTES:
            ids = [[chunk.id for chunk in one.chunks(one.rows_of(path))] for one in (index, again)]
            assert ids[0] == ids[1]
        assert search(ASKED, NEARLY_TEA, index).paths() == search(ASKED, NEARLY_TEA, again).paths()
    assert embedder.asked == [[ASKED]]


def test_without_labels_the_same_own_questions_are_asked_in_both(index: MemoryIndex) -> None:
    found = diagnose(ASKED, NEARLY_TEA, index, TARGET, trials=Trials(rechunk=True))
    (fix,) = [one for one in found.fixes if one.value == "100/20"]
    assert found.proxy
    assert fix.price.before.hit.size == fix.price.after.hit.size == len(found.prices.questions)


@pytest.mark.parametrize("release", ["2026.2.13", "2026.9.6"])
def test_the_sizes_are_json_to_paste_where_a_release_has_the_key(
    index: MemoryIndex, tmp_path: Path, release: str
) -> None:
    file = tmp_path / "openclaw.json"
    query = {"minScore": 0.8, "maxResults": 10, "hybrid": {"enabled": False}}
    tree = {"agents": {"defaults": {"memorySearch": {"query": query}}}}
    given = {"meta": {"lastTouchedVersion": release}, **tree}
    file.write_text(json.dumps(given), encoding="utf-8")
    of_file = replace(NEARLY_TEA, name=f"openclaw-{release}@openclaw.json")
    found = diagnose(ASKED, of_file, index, TARGET, trials=Trials(rechunk=True, file=str(file)))
    (paste,) = [one.paste for one in found.fixes if one.value == "100/20"]
    assert (paste is None) is (release == "2026.9.6")
    if paste is not None:
        file.write_text(json.dumps(merged(given, paste)), encoding="utf-8")
        made = read(file)
        with rebuilt(index, made.chunker, "chunks") as other:
            assert TARGET in search(ASKED, made.pipeline, other).paths()


# On the command line


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    return run


def test_the_command_of_the_page_makes_the_index_that_was_tried(run: Run, tmp_path: Path) -> None:
    root = world.write(tmp_path / "notes of wren", NOTES)
    assert run("index", root).code == 0
    asked = ("a cup of rooibos", "-m", root, "-s", "openclaw-2026.2.13-vector-only", "--min-score", 0.4)
    page = run("diagnose", *asked, "-t", TARGET, "--rechunk", "--details").out
    command = f"workbench index {shlex.quote(str(root))} --chunk 100/20 --rebuild"
    assert "".join(command.split()) in "".join(page.split())
    assert run(*shlex.split(command)[1:]).code == 0
    assert run("explain", *asked, "-t", TARGET).code == 0


def test_a_sync_keeps_the_sizes_and_a_rebuild_takes_those_that_are_given(run: Run, tmp_path: Path) -> None:
    root, file = world.write(tmp_path / "notes", NOTES), tmp_path / "index.sqlite"

    def chunks(*options: object) -> int:
        outcome = run("index", root, "--index", file, *options, "--json")
        assert outcome.code == 0, outcome.err
        return int(outcome.json()["chunks"])

    small = chunks("--chunk", "100/20")
    world.write(root, {"memory/new.md": "one more line"})
    assert chunks() == chunks("--chunk", "100/20") == small + 1
    refused = run("index", root, "--index", file, "--chunk", "200/40")
    assert refused.code == 2
    assert "another chunker: openclaw-2026.2.13 tokens=100 overlap=20" in refused.err
    assert "or add --rebuild to this command" in refused.err
    assert chunks("--chunk", "200/40", "--rebuild") < small
    assert chunks("--rebuild", "--as", "openclaw-2026.9.6", "--chunk", "100/20") > 4


@pytest.mark.parametrize("sizes", ["200", "40/200", "200/200", "-1/0", "0/0", "a/b", "200/40/3", ""])
def test_sizes_of_another_form_are_refused(run: Run, tmp_path: Path, sizes: str) -> None:
    outcome = run("index", world.write(tmp_path / "notes"), f"--chunk={sizes}")
    assert (outcome.code, outcome.out) == (2, "")
    assert f"{sizes!r} are no sizes of chunks." in outcome.err
    assert "200/40" in outcome.err


# Which indexes can be cut anew


@pytest.mark.parametrize(
    "chunker",
    [LineChunker(120, 7), *(one.chunker for one in INDEXINGS.values() if sizes_in(one.chunker.name))],
)
def test_a_chunker_is_known_by_its_name(chunker: LineChunker) -> None:
    assert chunker_named(chunker.name) == chunker


def test_an_index_that_cannot_be_cut_anew_is_refused_and_the_page_says_why(index: MemoryIndex) -> None:
    with pytest.raises(InputError, match="no index file of the workbench") as refused:
        tried(IndexAdapter(index))  # type: ignore[arg-type]
    assert "workbench index FOLDER" in refused.value.remedy
    page = diagnose(ASKED, NEARLY_TEA, IndexAdapter(index), TARGET, questions=LABELS).chunking
    assert page.startswith("Other chunks are not tried. The notes of")
    assert cut_index(CachedIndex(index)) is index


def test_an_unknown_chunker_and_a_provider_are_refused(tmp_path: Path) -> None:
    class Paragraphs:
        name = "by paragraph"

        def chunk(self, text: str):  # type: ignore[no-untyped-def]
            return LineChunker().chunk(text)

    root, file = world.write(tmp_path / "notes", NOTES), tmp_path / "index.sqlite"
    index_folder(root, world.EMBEDDER, options=Options(index_path=file, chunker=Paragraphs()))
    with open_index(root, world.EMBEDDER, index_path=file) as index:
        with pytest.raises(InputError, match="'by paragraph', whose sizes are not known"):
            tried(index)
        index.embedder = RemoteEmbedder(PROVIDERS["openai"], Access("http://127.0.0.1:9", "", "a-model"))
        with pytest.raises(InputError, match="would be sent to"):
            cut_index(index)
