"""Providers behind an API: what they are asked, what is tried again, and what is never stored."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests import world
from tests.commands import Run
from tests.fault_server import DIMENSIONS, KEY, Fault, Server, serving, vector
from tests.world import written
from workbench.errors import InputError, ProviderError
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import PartlyEmbeddedError, unit
from workbench.memory.embedding.named import embedder_named
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sources import LimitedChunker, LineChunker
from workbench.memory.sync import index_folder
from workbench_plugins.providers.clients import Connection, wanted_wait
from workbench_plugins.providers.embedder import PROVIDERS, RemoteEmbedder, ollama_host, wait

NAMES = list(PROVIDERS)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder of its own: it keeps which model was chosen for an index."""
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def one_server() -> Iterator[Server]:
    """A fault server for all of these tests, so that they can share the clients, which are slow to make."""
    with serving() as state:
        yield state


@pytest.fixture
def server(one_server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The fault server as new, and an environment in which every provider is found there."""
    one_server.reset()
    for provider, path in (("openai", "/openai/v1"), ("gemini", "/gemini"), ("voyage", "/voyage/v1")):
        monkeypatch.setenv(PROVIDERS[provider].url_variable, one_server.url + path)
    monkeypatch.setenv("OLLAMA_HOST", one_server.url)
    for variable in ("OPENAI_API_KEY", "GEMINI_API_KEY", "VOYAGE_API_KEY", "OLLAMA_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    return one_server


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without any key."""
    for provider in PROVIDERS.values():
        for variable in provider.key_variables:
            monkeypatch.delenv(variable, raising=False)


connection = cache(Connection)


def ready(name: str, waits: list[float] | None = None, kind: str = "") -> RemoteEmbedder:
    """The embedder of that name, which knows its dimensions, and notes its waits instead of waiting.

    For the fault "timeout" it waits for an answer for less time than the fault takes.
    """
    embedder = embedder_named(name)
    assert isinstance(embedder, RemoteEmbedder)
    embedder._connection = connection(embedder.access.key, embedder.provider.api.header)
    embedder.dimensions = embedder.access.output or DIMENSIONS
    embedder.sleep = (waits if waits is not None else []).append
    embedder.query_seconds = embedder.passage_seconds = seconds_for(kind)
    return embedder


def seconds_for(kind: str) -> float:
    """How long an answer may take; a busy machine is slow."""
    return 0.3 if kind == "timeout" else 60.0


def as_unit(*texts: str) -> np.ndarray:
    """The server's vectors of these texts, scaled to length 1."""
    return unit(np.array([vector(text) for text in texts]))


# Asking


@pytest.mark.parametrize("name", NAMES)
def test_every_text_gets_its_unit_vector_in_order(name: str, server: Server) -> None:
    texts = [f"tea {'x' * 900} {number} " + "bike " * number for number in range(30)]
    embedder = ready(name)
    found = embedder.embed(texts, "passage")
    assert len(server.requests) > 1
    assert found.vectors.dtype == np.float32
    assert found.vectors == pytest.approx(as_unit(*texts), abs=1e-6)
    assert found.read_share.tolist() == [1.0] * 30


@pytest.mark.parametrize(
    ("name", "role", "told"),
    [
        ("gemini", "query", {"taskType": "RETRIEVAL_QUERY"}),
        ("gemini", "passage", {"taskType": "RETRIEVAL_DOCUMENT"}),
        ("voyage", "query", {"input_type": "query", "truncation": False}),
        ("voyage", "passage", {"input_type": "document", "truncation": False}),
        ("openai", "query", {}),
        ("ollama", "query", {}),
    ],
)
def test_the_role_of_a_text_is_said(name: str, role: Role, told: dict[str, object], server: Server) -> None:
    ready(name).embed(["tea"], role)
    (request,) = server.requests
    body = request.body.get("requests", [request.body])[0]
    assert {key: body[key] for key in body.keys() - {"input", "model", "content"}} == told


@pytest.mark.parametrize("name", NAMES)
def test_dimensions_are_those_that_are_named_or_those_of_the_first_answer(name: str, server: Server) -> None:
    assert embedder_named(name).dimensions == DIMENSIONS
    embedder = embedder_named(f"{name}/some-model@3")
    assert (embedder.name, embedder.dimensions) == (f"{name}/some-model@3", 3)
    assert embedder.embed(["tea"], "query").vectors.shape == (1, 3)


def test_a_text_beyond_the_limit_is_read_whole_in_parts(server: Server) -> None:
    text = "tea " * 1000 + "bike " * 100
    found = ready("gemini").embed([text], "passage")
    sent = [part for request in server.requests for part in request.texts]
    assert "".join(sent) == text
    assert [len(part) for part in sent] == [2048, 2048, 404]
    expected = unit((as_unit(*sent) * np.array([[2048], [2048], [404]])).sum(axis=0, keepdims=True))
    assert found.vectors == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_requests_run_side_by_side_up_to_the_limit_and_never_beyond(name: str, server: Server) -> None:
    server.always = Fault(seconds=0.05, together=3)
    embedder = ready(name)
    embedder.concurrency = 3
    embedder.embed(["x" * 5000 for _ in range(12)], "passage")
    assert server.most == 3


@pytest.mark.parametrize(("name", "most"), [("gemini", 100), ("voyage", 128)])
def test_a_request_holds_no_more_texts_than_the_provider_takes(name: str, most: int, server: Server) -> None:
    ready(name).embed([f"t{number}" for number in range(300)], "passage")
    assert max(len(request.texts) for request in server.requests) == most


def test_a_chunker_can_be_held_to_a_limit() -> None:
    chunker = LimitedChunker(LineChunker(tokens=1000, overlap=0), 2048)
    text = "\n".join(["中" * 600] * 3)
    passages = chunker.chunk(text)
    assert all(len(passage.text.encode()) <= 2048 for passage in passages)
    assert "".join(passage.text for passage in passages) == text
    assert {(one.start_line, one.end_line) for one in passages} == {(1, 3)}
    assert chunker.name != LineChunker(tokens=1000, overlap=0).name
    with pytest.raises(InputError, match="too small"):
        LimitedChunker(LineChunker(), 3)


# Trying again


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_rate_limit_or_the_providers_failure_is_tried_again(name: str, status: int, server: Server) -> None:
    waits: list[float] = []
    server.faults.extend([Fault(status=status)] * 3)
    found = ready(name, waits).embed(["tea"], "passage")
    assert found.vectors == pytest.approx(as_unit("tea"), abs=1e-6)
    assert len(server.requests) == 4
    for waited, least in zip(waits, (0.5, 1.0, 2.0), strict=True):
        assert least <= waited <= 1.2 * least


@pytest.mark.parametrize("name", NAMES)
def test_after_four_tries_it_is_an_error_with_model_status_and_remedy(name: str, server: Server) -> None:
    server.always = Fault(status=429, message=f"too much for {KEY}")
    with pytest.raises(ProviderError) as raised:
        ready(name).embed(["tea"], "passage")
    assert len(server.requests) == 4
    assert raised.value.problem == f"{ready(name).name} failed with status 429: too much for …."
    assert "run it again" in raised.value.remedy


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [429, 500])
def test_a_question_is_asked_once(name: str, status: int, server: Server) -> None:
    server.always = Fault(status=status)
    with pytest.raises(ProviderError, match=f"status {status}"):
        ready(name).embed(["tea"], "query")
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("status", "remedy"), [(400, "model"), (401, "_KEY"), (403, "_KEY"), (404, "model's name")]
)
def test_a_refusal_is_not_tried_again(name: str, status: int, remedy: str, server: Server) -> None:
    server.always = Fault(status=status, message="at most 512 texts")
    with pytest.raises(ProviderError) as raised:
        ready(name).embed(["tea"], "passage")
    assert len(server.requests) == 1
    assert f"status {status}" in raised.value.problem
    assert remedy in raised.value.remedy


@pytest.mark.parametrize("name", NAMES)
def test_the_wait_that_a_provider_asks_for_is_kept(name: str, server: Server) -> None:
    waits: list[float] = []
    server.faults.append(Fault(status=429, headers=(("Retry-After", "7"),)))
    ready(name, waits).embed(["tea"], "passage")
    assert waits == [7.0]


def test_a_wait_of_more_than_a_minute_is_not_waited_for(server: Server) -> None:
    server.always = Fault(status=429, headers=(("Retry-After", "3600"),))
    with pytest.raises(ProviderError, match="wait 3600 s"):
        ready("openai").embed(["tea"], "passage")
    assert len(server.requests) == 1


def test_a_wait_is_in_seconds_or_until_a_date_and_anything_else_is_none() -> None:
    assert [wanted_wait({"retry-after": text}) for text in ("", "soon", "-5", "nan")] == [0] * 4
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=600), usegmt=True)
    assert 500 < wanted_wait({"retry-after": soon}) <= 600


def test_waits_grow_to_eight_seconds_and_no_further() -> None:
    assert all(0.5 <= wait(1, None) <= 0.6 for _ in range(100))
    assert wait(9, None) == 8.0


def test_a_failed_request_stops_those_that_have_not_begun(server: Server) -> None:
    server.always = Fault(status=400)
    embedder = ready("openai")
    embedder.concurrency = 1
    with pytest.raises(ProviderError):
        embedder.embed(["x" * 8000] * 50, "passage")
    assert len(server.requests) < 5


# What goes wrong with a connection or an answer

BAD: dict[str, tuple[Fault, str]] = {
    "timeout": (Fault(seconds=0.5), "no answer within 0.3 s"),
    "dropped": (Fault(drop=True), "the connection failed"),
    "too few": (Fault(vectors=lambda all_: all_[:-1]), "1 vectors came for 2 texts|numbered"),
    "too many": (Fault(vectors=lambda all_: all_ + all_[:1]), "3 vectors came for 2 texts"),
    "none": (Fault(vectors=lambda _: []), "0 vectors came|No embedding data"),
    "NaN": (Fault(vectors=lambda all_: [all_[0], [float("nan"), *all_[1][1:]]]), "NaN or infinity"),
    "infinite": (Fault(vectors=lambda all_: [all_[0], [float("inf"), *all_[1][1:]]]), "NaN or infinity"),
    "zero": (Fault(vectors=lambda all_: [all_[0], [0.0] * DIMENSIONS]), "no length"),
    "wide": (Fault(vectors=lambda all_: [[*one, 1.0] for one in all_]), "5 dimensions, not 4"),
    "narrow": (Fault(vectors=lambda all_: [one[:2] for one in all_]), "2 dimensions, not 4"),
    "ragged": (Fault(vectors=lambda all_: [all_[0], all_[1][:2]]), "differ in length"),
    "empty": (Fault(vectors=lambda all_: [[] for _ in all_]), "empty"),
    "cut off": (Fault(text=lambda text: text[:-20]), "cannot be read"),
    "no JSON": (Fault(text=lambda _: "<html>"), "cannot be read"),
    "another form": (Fault(text=lambda _: '{"data": [1, 2], "embeddings": 3}'), "cannot be read"),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_answer_is_an_error_that_says_what_is_wrong(name: str, kind: str, server: Server) -> None:
    server.always, said = BAD[kind]
    with pytest.raises(ProviderError, match=said) as raised:
        ready(name, kind=kind).embed(["tea", "bike"], "passage")
    assert raised.value.problem.startswith(ready(name).name)
    assert server.url in raised.value.remedy
    server.has_heard(1)
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_that_drips_in_is_given_up_at_its_deadline(name: str, server: Server) -> None:
    server.always = Fault(drip=0.05)
    embedder = ready(name)
    embedder.query_seconds = 0.5
    with pytest.raises(ProviderError, match=r"no answer within 0\.5 s"):
        embedder.embed(["tea"], "query")


def test_texts_that_were_embedded_before_a_failure_are_kept(server: Server, tmp_path: Path) -> None:
    root, file = indexed(tmp_path, "openai"), tmp_path / "index.sqlite"
    world.write(root, {f"memory/n{n}.md": f"note {n} " + "tea " * 1_900 for n in range(6)})
    server.requests.clear()
    server.faults.extend([Fault(), Fault(), Fault(), Fault(status=400)])
    embedder = ready("openai")
    embedder.concurrency = 1
    with pytest.raises(ProviderError, match="status 400") as raised:
        index_folder(root, embedder, options=Options(index_path=file))
    assert isinstance(raised.value, PartlyEmbeddedError)
    before = {text for request in server.requests[:3] for text in request.texts}
    server.requests.clear()
    index_folder(root, ready("openai"), options=Options(index_path=file))
    after = {text for request in server.requests for text in request.texts}
    assert before - {"dimensions"}
    assert not before & after - {"dimensions"}


@pytest.mark.parametrize("name", ["openai", "voyage", "ollama"])
def test_vectors_are_ordered_by_their_numbers(name: str, server: Server) -> None:
    server.always = Fault(vectors=lambda all_: all_[::-1], numbers=lambda count: range(count)[::-1])
    texts = ["tea", "bike bike", "server"]
    assert ready(name).embed(texts, "passage").vectors == pytest.approx(as_unit(*texts), abs=1e-6)


@pytest.mark.parametrize("numbers", [[0, 0], [1, 2], [0, 5]])
def test_vectors_with_other_numbers_than_the_texts_are_refused(numbers: list[int], server: Server) -> None:
    server.always = Fault(numbers=lambda _: numbers)
    with pytest.raises(ProviderError, match="numbered"):
        ready("openai").embed(["tea", "bike"], "passage")


# Names and keys


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({"OPENAI_API_KEY", "GEMINI_API_KEY", "VOYAGE_API_KEY"}, "openai/text-embedding-3-small"),
        ({"GOOGLE_API_KEY", "VOYAGE_API_KEY"}, "gemini/gemini-embedding-001"),
        ({"VOYAGE_API_KEY", "OLLAMA_API_KEY"}, "voyage/voyage-4-large"),
    ],
)
def test_auto_is_the_first_provider_with_a_key(
    variables: set[str], name: str, no_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in variables:
        monkeypatch.setenv(variable, KEY)
    assert embedder_named("auto").name == name


def test_auto_without_a_key_is_an_error_with_their_names(
    no_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    with pytest.raises(InputError, match="OPENAI_API_KEY, GEMINI_API_KEY, GOOGLE_API_KEY, VOYAGE_API_KEY"):
        embedder_named("auto")


@pytest.mark.parametrize("name", ["openai/x@", "openai/x@0", "openai/x@many", "ollama/x@-1", "ollama/x@²"])
def test_dimensions_that_are_no_number_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="are not a number above 0"):
        embedder_named(name)


@pytest.mark.parametrize(
    "address",
    [
        "http://user:pass@host/v1",
        "https://host/v1?key=abc",
        "ftp://host",
        "host/v1",
        "http:/v1",
        "http://h:x",
    ],
)
def test_an_address_with_a_secret_is_not_printed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(InputError, match="OPENAI_BASE_URL") as raised:
        embedder_named("openai")
    assert address not in str(raised.value)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("gpu", "http://gpu:11434"),
        ("gpu:80/", "http://gpu:80"),
        ("https://gpu:443", "https://gpu:443"),
    ],
)
def test_ollamas_variable_may_lack_scheme_and_port(host: str, address: str) -> None:
    assert ollama_host(host) == address


def test_name_and_revision_tell_vectors_apart(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    models = ["openai/m", "openai/n", "openai/m@3", "gemini/m", "voyage/m", "ollama/m"]
    seen = [(one.name, one.revision) for one in map(embedder_named, models)]
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/other/v1")
    seen.append((embedder_named("openai/m").name, embedder_named("openai/m").revision))
    assert len(set(seen)) == len(models) + 1


# An index


def indexed(folder: Path, name: str) -> Path:
    """The toy notes under `folder`, indexed with that model."""
    root = world.write(folder / "notes")
    index_folder(root, embedder_named(name), options=Options(index_path=folder / "index.sqlite"))
    return root


@pytest.mark.parametrize("name", NAMES)
def test_an_index_opens_with_the_model_that_made_it(name: str, server: Server, tmp_path: Path) -> None:
    root = indexed(tmp_path, name)
    server.requests.clear()
    with open_index(root, index_path=tmp_path / "index.sqlite") as index:
        assert index.embedder.name == f"{name}/{PROVIDERS[name].model}"
        assert index.embed("tea") == pytest.approx(as_unit("tea")[0], abs=1e-6)
        assert index.embed("tea") == pytest.approx(as_unit("tea")[0], abs=1e-6)
    assert len(server.requests) == 1


def test_an_index_opens_without_a_key_for_what_needs_none(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = indexed(tmp_path, "openai")
    monkeypatch.delenv("OPENAI_API_KEY")
    with open_index(root, index_path=tmp_path / "index.sqlite") as index:
        assert index.keyword(written('"rooibos"'), 5).rows.size == 2
        with pytest.raises(InputError, match="OPENAI_API_KEY"):
            index.embed("tea")


def test_a_question_goes_nowhere_else_than_the_texts_went(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = indexed(tmp_path, "openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(InputError, match=r"now means http://127\.0\.0\.1:9/v1") as raised:
        open_index(root, index_path=tmp_path / "index.sqlite")
    assert (
        raised.value.remedy == f"If you trust the old address: export OPENAI_BASE_URL={server.url}/openai/v1"
    )


def stored(file: Path) -> tuple[object, ...]:
    """What an index file holds: its chunks, and how many vectors its cache has."""
    from workbench.memory.store.sqlite.store import Store

    with Store.open(file) as store:
        cached = store.db.execute("SELECT count(*) FROM embedding_cache").get
        return store.keys(), cached


@pytest.mark.parametrize("kind", ["timeout", "dropped", "too few", "NaN", "wide", "cut off"])
def test_after_a_bad_answer_nothing_is_stored(kind: str, server: Server, tmp_path: Path) -> None:
    root, file = indexed(tmp_path, "openai"), tmp_path / "index.sqlite"
    before = stored(file)
    world.write(root, {"memory/new.md": "# New\nA new note.\n", "memory/newer.md": "# Newer\nAnother.\n"})
    server.always = BAD[kind][0]
    with pytest.raises(ProviderError):
        index_folder(root, ready("openai", kind=kind), options=Options(index_path=file))
    with open_index(root, index_path=file) as index:
        index.embedder.query_seconds = seconds_for(kind)  # type: ignore[attr-defined]
        with pytest.raises(ProviderError):
            index.embed("where is the tea")
    assert stored(file) == before
    server.always = Fault()
    summary = index_folder(root, ready("openai"), options=Options(index_path=file))
    assert (len(summary.new), summary.embedded) == (2, 2)


def test_keys_are_neither_printed_nor_stored(server: Server, tmp_path: Path, run: Run) -> None:
    root, file = world.write(tmp_path / "notes"), tmp_path / "index.sqlite"
    done = run("index", root, "--index", file, "--model", "openai/text-embedding-3-small")
    assert done.code == 0
    assert "Indexed 6 files" in done.out
    searched = run("search", "tea", "--memory", root, "--index", file, "--json")
    server.always = Fault(status=401, message=f"Incorrect API key provided: {KEY}")
    refused = run("search", "bike", "--memory", root, "--index", file)
    assert refused.code == 4
    assert "Incorrect API key provided: …" in refused.err
    assert KEY not in searched.out + searched.err + refused.out + refused.err + repr(embedder_named("openai"))
    assert not [one for one in tmp_path.glob("index.sqlite*") if KEY.encode() in one.read_bytes()]


def test_libraries_that_are_missing_are_named(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(InputError, match=r"not installed: .*httpx2.*\n.*\[providers\]"):
        embedder_named("openai").embed(["tea"], "query")
