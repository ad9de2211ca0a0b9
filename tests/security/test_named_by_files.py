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

from tests import world
from tests.commands import Run
from tests.fault_server import KEY, Server, serving
from tests.milvus import fresh_name
from tests.openclaw_store import FORMS, OpenClaw
from tests.postgres import fresh_schema
from workbench.errors import InputError
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
    return Given(tmp_path, server.url, secret)


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


REASONS = (
    *("you have not named", "you have not used with it", "is the name of a file", "of a case names a file"),
    *("leads out of its own folder", "was made for the m"),
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_only_a_file_names_is_not_read_and_gets_nothing(
    run: Run, here: Given, server: Server, attack: str
) -> None:
    global watching
    command = ATTACKS[attack](here)
    server.requests.clear()
    opened.clear()
    watching = True
    try:
        outcome = run(*command)
    finally:
        watching = False
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
