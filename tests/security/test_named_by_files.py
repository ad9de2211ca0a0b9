"""What a file names gets nothing until the user names it too: addresses, models and paths.

Of every kind of file: no request reaches an address in it, and nothing that it names is opened or listed.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from benchmarks.hostile import watching_reader
from tests import world
from tests.commands import Run
from tests.fault_server import KEY, Server, serving
from tests.lab.doctor import stores
from tests.lab.doctor.stores import Row
from tests.milvus import fresh_name
from tests.openclaw_store import FORMS, OpenClaw
from tests.postgres import fresh_schema
from workbench.errors import InputError
from workbench.memory import guard
from workbench.memory.embedding.named import embedder_named
from workbench.memory.opening import open_index
from workbench.memory.options import Options
from workbench.memory.sync import index_folder
from workbench.trust import check_named, named_by_user
from workbench_plugins.calibrate.calibration_file import memory_of, model_of
from workbench_plugins.providers.embedder import PROVIDERS
from workbench_plugins.providers.reranking import KEY as RERANK_KEY

SECRET = "of-another-user"
opened: list[str] = []
watching = False


def _watch(event: str, given: tuple[Any, ...]) -> None:
    if watching and event in ("open", "os.listdir", "os.scandir") and SECRET in str(given[0]):
        opened.append(f"{event} {given[0]}")


sys.addaudithook(_watch)


class Given(NamedTuple):
    """Where an attack writes: its folder, the address that gets nothing, and the folder that nobody reads."""

    folder: Path
    url: str
    secret: Path

    @property
    def memory(self) -> Path:
        return self.folder / "memory_of_wren"

    @property
    def index(self) -> Path:
        return self.folder / "index.sqlite"

    @property
    def log(self) -> Path:
        return self.folder / "home" / "log"

    def write(self, name: str, data: Any) -> Path:
        file = self.folder / name
        file.write_text(json.dumps(data), encoding="utf-8")
        return file


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture
def here(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Given:
    """A user with a key for everything, who has named no address. Every provider's own one is the server."""
    monkeypatch.setenv(RERANK_KEY, KEY)
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    for provider in tuple(PROVIDERS.values()):
        monkeypatch.setenv(provider.url_variable, "")
        monkeypatch.setitem(PROVIDERS, provider.name, replace(provider, base_url=server.url))  # type: ignore[arg-type]
        for name in provider.key_variables:
            monkeypatch.setenv(name, KEY)
    secret = tmp_path / SECRET
    (secret / "memory").mkdir(parents=True)
    (secret / "memory" / "diary.md").write_text("Nobody reads this.\n", encoding="utf-8")
    (secret / "openclaw.json").write_text("{}", encoding="utf-8")
    given = Given(tmp_path, server.url, secret)
    given.log.parent.mkdir()
    monkeypatch.setattr(guard, "START", watching_reader(given.log))
    return given


def configured(here: Given, **search: Any) -> list[object]:
    defaults = {"workspace": search.pop("workspace", None), "memorySearch": search}
    data = {"agents": {"defaults": defaults}, "meta": {"lastTouchedVersion": "2026.2.13"}}
    return ["--config", here.write("openclaw.json", data)]


def calibrated(here: Given, rerank: str, memory: str = "", model: str = "") -> Path:
    file = here.folder / "mine.calibration.yaml"
    data = {"system": "openclaw-2026.2.13", "model": model, "memory": memory, "rerank": rerank}
    data |= {"thresholds": {"floor": 0.2}, "promise": "None."}
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    return file


def case_with(here: Given, **system: Any) -> Path:
    case = {
        "case": 1,
        "system": {"name": "openclaw-2026.2.13", **system},
        "questions": [{"question": "tea", "expect": {"found": "memory/tea.md"}}],
        "model": {"name": "toy", "dimensions": 1, "axes": {"tea": ["tea"]}},
        "memory": {"notes": [{"path": "memory/tea.md", "text": "Tea is in the pot."}]},
    }
    file = here.folder / "a.case.yaml"
    file.write_text(yaml.safe_dump(case), encoding="utf-8")
    return file


def forged(here: Given, **meta: str) -> Path:
    """An index with other values in its table `meta`."""
    world.build(here.folder).close()
    with sqlite3.connect(here.index.resolve()) as db:
        for key, value in meta.items():
            db.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))
    db.close()
    return here.index


def remote_index(here: Given) -> list[object]:
    """An index that its user has made with a provider, and that has been given to somebody else."""
    world.write(here.memory)
    index_folder(here.memory, embedder_named("openai/m"), options=Options(index_path=here.index))
    for one in (here.folder / "home").glob("choices-*"):
        one.unlink()
    return ["search", "tea", "-m", here.memory, "--index", here.index]


def live_store(here: Given) -> list[object]:
    store = OpenClaw(here.folder / "main.sqlite", FORMS["2026.9"]).create()
    with store.opened() as db:
        store.describe(db, json.dumps({"provider": "openai", "model": "m"}))
    return ["search", "tea", "-m", store.file]


def asked(here: Given, *more: object) -> list[object]:
    index_folder(world.write(here.memory), options=Options(index_path=here.index))
    return ["search", "tea", "-m", here.memory, "--index", here.index, *more]


ATTACKS: dict[str, Callable[[Given], list[object]]] = {
    "configuration, address": lambda here: [
        *configured(here, provider="openai", model="m", remote={"baseUrl": here.url + "/theirs"}),
        "index", world.write(here.memory), "--index", here.index,
    ],
    "configuration, model": lambda here: [
        *configured(here, provider="openai", model="m"), "index", world.write(here.memory),
    ],
    "configuration, workspace": lambda here: [*configured(here, workspace=str(here.secret)), "index"],
    "configuration, workspace, search": lambda here: [
        *configured(here, workspace=str(here.secret)), "search", "tea",
    ],
    "configuration, extra paths": lambda here: [
        *configured(here, extraPaths=[str(here.secret)]), "index", world.write(here.memory),
    ],
    "configuration, sessions": lambda here: [
        *configured(here, sources=["memory", "sessions"], experimental={"sessionMemory": True}),
        "index", world.write(here.memory),
    ],
    "calibration, cohere": lambda here: asked(
        here, "--set", f"calibration={calibrated(here, f'cohere:m@{here.url}')}", "-s", "openclaw-2026.2.13"
    ),
    "calibration, judge, as a system": lambda here: asked(
        here, "-s", calibrated(here, f"judge:m@{here.url}")
    ),
    "calibration, model": lambda here: asked(here, "-s", calibrated(here, f"cross-encoder:{here.secret}")),
    "calibration of another memory": lambda here: asked(
        here, "-s", calibrated(here, f"cohere:m@{here.url}", "elsewhere"), "--rerank", f"cohere:m@{here.url}"
    ),
    "case, file as a system": lambda here: [
        "case", "run", case_with(here, name=str(here.secret / "openclaw.json")),
    ],
    "case, calibration": lambda here: [
        "case", "run", case_with(here, settings=[f"calibration={here.secret / 'a.calibration.yaml'}"]),
    ],
    "case, calibration with a reranker": lambda here: [
        "case", "run",
        case_with(here, settings=[f"calibration={calibrated(here, f'cohere:m@{here.url}')}"]),
    ],
    "case, configuration elsewhere": lambda here: [
        "case", "run", case_with(here, name="", openclaw={"file": f"../{SECRET}/openclaw.json"}),
    ],
    "index, folder": lambda here: ["doctor", forged(here, folder=str(here.secret))],
    "index, model of a provider": remote_index,
    "OpenClaw's store, model of a provider": live_store,
}  # fmt: skip


def odd_names(here: Given) -> list[str]:
    """The ways to name the folder that nobody reads, and the address that gets nothing."""
    home = f"~/{SECRET}/memory/diary.md"
    return [str(here.secret), home, f"file://{here.secret}/memory/diary.md", rf"\\host\{SECRET}", here.url]


def told_by_a_config(here: Given, name: str) -> list[object]:
    more = {"env": {"vars": {"http_proxy": here.url, "HTTPS_PROXY": here.url, "OPENAI_BASE_URL": here.url}}}
    more |= {"$include": name, "http_proxy": here.url, "proxy": {"url": here.url}}
    file = configured(here, provider="none", store={"path": name})[1]
    assert isinstance(file, Path)
    here.write("openclaw.json", json.loads(file.read_text(encoding="utf-8")) | more)
    return asked(here, "-s", file)


def told_by_questions(here: Given, name: str) -> list[object]:
    rows = [{"question": name, "target": "memory/tea.md"}]
    file = here.write("q.yaml", {"questions": rows, "controls": [{"question": f"{name} too"}]})
    return ["evaluate", *asked(here)[2:], "-q", file, "-s", "am-150"]


def told_by_a_target(here: Given, name: str) -> list[object]:
    file = here.write("q.yaml", {"questions": [{"question": "tea", "target": name}], "model": name})
    return ["evaluate", *asked(here)[2:], "-q", file, "-s", "am-150"]


def answers_with(here: Given, name: str) -> Path:
    results = [{"id": name, "score": 0.5, "url": name, "model": "openai/m"}]
    rows = {"id": "a", "question": "tea", "results": results, "model": "openai/m", "base_url": name}
    return here.write("run.jsonl", rows)


def told_by_saved_answers(here: Given, name: str) -> list[object]:
    questions = {"questions": [{"question": "tea", "target": "memory/tea.md"}]}
    given = ["-q", here.write("q.yaml", questions), "-s", "am-150", "--against", answers_with(here, name)]
    return ["runs", "gate", *asked(here)[2:], *given]


def told_by_labels(here: Given, name: str) -> list[object]:
    (here.folder / "qrels.txt").write_text(f"a 0 {name} 1\n", encoding="utf-8")
    given = ["--qrels", here.folder / "qrels.txt", *asked(here)[2:]]
    return ["runs", "blame", answers_with(here, name), *given]


def told_by_spans(here: Given, name: str) -> list[object]:
    values = {"openinference.span.kind": "RETRIEVER", "input.value": "tea", "url.full": here.url}
    values |= {"retrieval.documents.0.document.id": name, "llm.api_base": here.url}
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
    span = {"spanId": name, "attributes": attributes, "links": [{"url": here.url}], "model": "openai/m"}
    return ["runs", "traces", here.write("spans.json", [span]), "-o", here.folder / "runs"]


def told_by_a_collection(here: Given, name: str) -> list[object]:
    said = {"speaker": "A", "dia_id": "D1:1", "text": name, "img_url": [name]}
    spoken = {"speaker_a": "A", "speaker_b": "B", "session_1": [said]}
    spoken["session_1_date_time"] = "1:56 pm on 8 May, 2023"
    asked = {"question": name, "answer": name, "evidence": ["D1:1"], "category": 1}
    file = here.write("l.json", [{"sample_id": "a", "conversation": spoken, "qa": [asked]}])
    return ["runs", "convert", file, "--from", "locomo", "-o", here.folder / "converted"]


def told_by_a_note(here: Given, name: str) -> list[object]:
    text = f"---\nmodel: {name}\n---\n![[{name}]] ![a]({name}) <img src={name}>"
    world.write(here.memory, {"memory/tea.md": text})
    return ["index", here.memory, "--index", here.index]


def told_by_a_transcript(here: Given, name: str) -> list[object]:
    (here.folder / "sessions").mkdir()
    content = [{"type": "text", "text": name}, {"type": "image", "path": name, "url": name}]
    row = {"type": "message", "message": {"role": "user", "content": content}, "cwd": name}
    here.write("sessions/s.jsonl", row)
    return ["index", world.write(here.memory), "--index", here.index, "--sessions", here.folder / "sessions"]


def told_by_a_store(here: Given, name: str) -> list[object]:
    file = stores.basic_memory([Row("tea.md", "Tea.", None)], Path(name), here.folder)
    with sqlite3.connect(file) as db:
        db.execute("UPDATE search_vector_chunks SET embedding_model = ?", (name,))
    db.close()
    return ["doctor", file]


def told_by_an_exported_test(here: Given, name: str) -> list[object]:
    file = case_with(here)
    case = yaml.safe_load(file.read_text(encoding="utf-8")) | {"title": name, "references": [name]}
    file.write_text(yaml.safe_dump(case), encoding="utf-8")
    return ["case", "export", file, here.folder / "exported", "--to", "pytest"]


def told_by_a_notebook(here: Given, name: str) -> list[object]:
    told = {"kernelspec": {"name": name, "argv": [name]}, "workbench": {"memory": name, "model": "openai/m"}}
    note = {"cells": [], "metadata": told | {"widgets": {"state": name}}, "nbformat": 4, "nbformat_minor": 5}
    world.write(here.memory)
    (here.memory / "a.ipynb").write_text(json.dumps(note), encoding="utf-8")
    return ["index", here.memory, "--index", here.index]


TOLD = (
    *(told_by_a_config, told_by_questions, told_by_a_target, told_by_saved_answers, told_by_labels),
    *(told_by_spans, told_by_a_collection, told_by_a_note, told_by_a_transcript, told_by_a_store),
    *(told_by_an_exported_test, told_by_a_notebook),
)
"""Commands for files in which an address, a model or a path is only words, in each of `odd_names`."""


@pytest.mark.parametrize("form", range(5), ids=["folder", "home", "file", "share", "address"])
@pytest.mark.parametrize("told", TOLD, ids=lambda one: one.__name__)
def test_what_is_only_words_in_a_file_is_not_read_and_gets_nothing(
    run: Run,
    here: Given,
    server: Server,
    told: Callable[[Given, str], list[object]],
    form: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(here.folder))
    outcome = watched(run, server, here.log, told(here, odd_names(here)[form]))
    assert (server.requests, opened) == ([], [])
    assert outcome.code in (0, 1, 2), outcome
    assert KEY not in outcome.out + outcome.err
    assert "Nobody reads this" not in outcome.out + outcome.err


@pytest.mark.parametrize("key", ["workspace", "extraPaths"])
@pytest.mark.parametrize("form", range(4), ids=["folder", "home", "file", "share"])
def test_a_folder_of_a_configuration_is_asked_for_in_every_form(
    run: Run, here: Given, server: Server, key: str, form: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(here.folder))
    name = odd_names(here)[form]
    given = configured(here, **{key: name if key == "workspace" else [name]})
    more = [world.write(here.memory)] if key == "extraPaths" else []
    outcome = watched(run, server, here.log, [*given, "index", *more])
    assert (server.requests, opened, outcome.code, outcome.out) == ([], [], 2, "")
    assert "you have not named" in outcome.err


def watched(run: Run, server: Server, log: Path, command: list[object]) -> Any:
    """How a command ends, with what it and its readers open in the folder that nobody reads in `opened`."""
    global watching
    log.write_text("", encoding="utf-8")
    server.requests.clear()
    opened.clear()
    watching = True
    try:
        return run(*command)
    finally:
        watching = False
        opened.extend(one for one in log.read_text(encoding="utf-8").splitlines() if SECRET in one)


REASONS = (
    *("you have not named", "you have not used with it", "is the name of a file", "of a case names a file"),
    *("leads out of its own folder", "was made for the m"),
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_only_a_file_names_is_not_read_and_gets_nothing(
    run: Run, here: Given, server: Server, attack: str
) -> None:
    outcome = watched(run, server, here.log, ATTACKS[attack](here))
    assert (server.requests, opened) == ([], [])
    assert outcome.code in (1, 2), outcome
    assert KEY not in outcome.out + outcome.err
    assert "diary" not in outcome.out + outcome.err
    if attack != "index, folder":
        assert (outcome.code, outcome.out) == (2, ""), outcome
        assert any(one in outcome.err for one in REASONS), outcome.err


@pytest.mark.parametrize(
    ("attack", "words"),
    [
        ("configuration, workspace", "--memory"),
        ("index, model of a provider", "--model openai/m"),
        ("OpenClaw's store, model of a provider", "--model openai/m"),
    ],
)
def test_the_error_says_how_to_give_it_again_and_that_is_enough(
    run: Run, here: Given, server: Server, attack: str, words: str
) -> None:
    command = ATTACKS[attack](here)
    refused = run(*command)
    if "workspace" in attack:
        assert f"names the memory {here.secret} and the model auto, which you" in refused.err
        assert run(*command, here.secret, "--model", "all-MiniLM-L6-v2").code == 0
        return
    assert words in refused.err
    server.requests.clear()
    assert run(*command, "--model", "openai/m").code in (0, 1)
    assert server.requests
    assert run(*command).code in (0, 1)  # it is asked for once


@pytest.mark.parametrize("kind", ["postgres", "milvus"])
def test_the_model_that_only_an_index_on_a_server_names_gets_nothing(
    run: Run, here: Given, server: Server, kind: str, request: pytest.FixtureRequest
) -> None:
    fresh = fresh_schema if kind == "postgres" else fresh_name
    address = fresh(request.getfixturevalue(kind))
    index_folder(world.write(here.memory), embedder_named("openai/m"), options=Options(store=address))
    assert run("search", "tea", "-m", address).code in (0, 1)  # who made it, has named the model
    for one in (here.folder / "home").glob("choices-*"):
        one.unlink()
    server.requests.clear()
    refused = run("search", "tea", "-m", address)
    assert (refused.code, server.requests) == (2, [])
    assert "--model openai/m" in refused.err
    assert run("search", "a cup", "-m", address, "--model", "openai/m").code in (0, 1)
    assert server.requests
    assert run("search", "tea", "-m", address).code in (0, 1)


def test_a_reranker_of_a_calibration_that_is_typed_again_is_asked_once(
    run: Run, here: Given, server: Server
) -> None:
    command = asked(here)
    with open_index(here.memory, index_path=here.index) as opened:
        file = calibrated(here, f"cohere:m@{here.url}", memory_of(opened), model_of(opened))
    server.requests.clear()
    outcome = run(*command, "-s", file, "--rerank", f"cohere:m@{here.url}")
    assert outcome.code in (0, 1), outcome.err
    assert len(server.requests) == 1


def test_one_error_names_all_that_is_missing() -> None:
    named = [("model", "openai/m", "--model openai/m"), ("extra path", "/x", "--extra /x")]
    with pytest.raises(InputError, match="the model openai/m and the extra path /x") as error:
        check_named("f.json", named)
    assert "--model openai/m --extra /x" in str(error.value)
    with named_by_user("openai/m", "/x/"):
        check_named("f.json", named)
