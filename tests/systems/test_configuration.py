"""An openclaw.json is a system: every key is used, or named with the reason why not."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import world
from tests.commands import Run
from workbench.errors import InputError
from workbench.retrieval.columns import parameters
from workbench.retrieval.pipeline import Pipeline
from workbench.systems.catalogue import SYSTEMS, system
from workbench.systems.openclaw import SHIPPED
from workbench_plugins.openclaw.config import Configuration, KeyReport, configured, read
from workbench_plugins.openclaw.config_keys import keys_of, to_paste, with_keys
from workbench_plugins.openclaw.config_values import USUAL, merged, nested
from workbench_plugins.openclaw.releases import HISTORY, SEPTEMBER
from workbench_plugins.openclaw.sessions import Thresholds
from workbench_plugins.providers.embedder import PROVIDERS

FILE = Path("openclaw.json")
TABLES = yaml.safe_load(Path(__file__).with_name("openclaw_json.yaml").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def no_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """No address is named; what a command does to the environment ends with the test."""
    for provider in PROVIDERS.values():
        monkeypatch.setenv(provider.url_variable, "")


def february(settings: Mapping[str, Any], **beside: Any) -> Configuration:
    """The configuration with these settings of memory search, as 2026.2.13 wrote them, or another release."""
    meta = {"lastTouchedVersion": "2026.2.13"}
    return configured({"meta": meta, "agents": {"defaults": {"memorySearch": settings}}, **beside}, FILE)


def september(settings: Mapping[str, Any], **beside: Any) -> Configuration:
    """The same, as 2026.9.6 writes them."""
    return configured({"memory": {"search": settings}, **beside}, FILE)


def finding(made: Configuration, key: str) -> KeyReport:
    (found,) = [one for one in made.findings if one.key.endswith(key)]
    return found


def written(folder: Path, text: str, name: str = "openclaw.json") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


# The pipeline


def test_nothing_said_is_the_system_as_shipped() -> None:
    made = configured({}, FILE, release="2026.2.13")
    assert made.pipeline.stages == SHIPPED.stages
    assert made.findings == ()
    assert made.model == "auto"


def test_a_query_setting_changes_its_stage_and_no_other() -> None:
    made = february({"query": {"maxResults": 12, "hybrid": {"candidateMultiplier": 2}}})
    assert {one.slot for one in SHIPPED.diff(made.pipeline)} == {"keyword_leg", "vector_leg", "limit"}
    assert made.pipeline.limit == 12
    assert parameters(made.pipeline["vector_leg"])["depth.multiplier"] == 2


def test_weights_are_scaled_to_sum_to_one_and_two_of_nothing_are_the_usual_ones() -> None:
    made = february({"query": {"hybrid": {"vectorWeight": 0.5, "textWeight": 0.3}}})
    fusion = parameters(made.pipeline["fusion"])
    assert fusion["vector"] == pytest.approx(0.5 / 0.8)
    assert fusion["keyword"] == pytest.approx(0.3 / 0.8)
    none = february({"query": {"hybrid": {"vectorWeight": 0, "textWeight": 0}}})
    assert none.pipeline.diff(SHIPPED) == []


def test_without_hybrid_the_vector_leg_is_alone() -> None:
    made = february({"query": {"minScore": 0.25, "hybrid": {"enabled": False}}})
    assert [stage.slot for stage in made.pipeline.stages if "leg" in stage.slot] == ["vector_leg"]
    assert (made.pipeline.floor, made.pipeline.limit) == (0.25, 6)


@pytest.mark.parametrize(("version", "release"), TABLES["releases"].items())
def test_the_release_that_wrote_the_file_says_which_pipeline(version: str, release: str) -> None:
    made = february({}, meta={"lastTouchedVersion": version})
    assert made.pipeline.name == f"openclaw-{release}@openclaw.json"
    assert made.pipeline.stages == next(one for one in HISTORY if one.name.endswith(release)).stages


@pytest.mark.parametrize(
    "settings", [{}, {"provider": "auto"}, {"provider": None}, {"query": {"maxResults": 9}}]
)
def test_the_newer_form_is_the_newest_release_which_takes_openai(settings: dict[str, Any]) -> None:
    made = september(settings)
    assert [one.slot for one in SEPTEMBER.diff(made.pipeline)] == (["limit"] if "query" in settings else [])
    assert (made.choice.release, made.model) == ("2026.9.6", "openai/text-embedding-3-small")
    assert made.unused == []


def test_mmr_and_decay_are_switched_on_where_a_release_has_them() -> None:
    hybrid = {"mmr": {"enabled": True, "lambda": 0.5}, "temporalDecay": {"enabled": True, "halfLifeDays": 7}}
    made = february({"query": {"hybrid": hybrid}}, meta={"lastTouchedVersion": "2026.2.15"})
    assert parameters(made.pipeline["diversity"])["relevance_weight"] == 0.5
    assert parameters(made.pipeline["recency"])["half_life_days"] == 7
    assert made.unused == []
    before = february({"query": {"hybrid": hybrid}}, meta={"lastTouchedVersion": "2026.2.13"})
    assert before.pipeline.diff(SHIPPED) == []
    assert [one.fate for one in before.findings] == ["no effect"] * 4


def test_the_rescue_follows_the_keyword_weight() -> None:
    weights = {"query": {"hybrid": {"vectorWeight": 0.5, "textWeight": 0.5}}}
    march = february(weights, meta={"lastTouchedVersion": "2026.3.7"})
    assert parameters(march.pipeline["rescue"])["floor"] == 0.5
    july = february(weights, meta={"lastTouchedVersion": "2026.7.1"})
    assert parameters(july.pipeline["rescue"])["floor"] == 0


# The rest of the settings


@pytest.mark.parametrize(("settings", "model"), TABLES["models"])
def test_provider_and_model_are_one_name(settings: dict[str, str], model: str | None) -> None:
    made = february(settings)
    assert made.model == model
    assert finding(made, "provider").fate == ("used" if model else "no effect")


def test_other_settings_become_ours() -> None:
    made = february(TABLES["every kind of setting"])
    assert made.chunker.name == "openclaw-2026.2.13 tokens=100 overlap=99 bytes=2048"
    assert made.extra_paths == ["../team", "wiki"]
    assert made.sessions is not None
    assert made.sessions.parts[-3:] == ("agents", "main", "sessions")
    assert made.store == Path("/x/main.db")
    assert (made.quiet, made.thresholds) == (1.0, Thresholds(10, 2))
    assert made.environment == {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1"}
    assert made.unused == []


def test_september_cuts_as_it_does_whatever_the_file_says() -> None:
    made = september({"chunking": {"tokens": 5}, "query": {"hybrid": {"textWeight": 1}}})
    assert made.chunker.name.startswith("openclaw-2026.9.6-by-file tokens=400 overlap=80")
    assert {one.description for one in made.unused} == {
        "2026.9.6 no longer reads chunking: its values are fixed",
        "2026.9.6 no longer reads query.hybrid: its values are fixed",
    }


@pytest.mark.parametrize(
    ("data", "name", "agent", "limit"),
    [
        ({"list": [{"id": "a"}, {"id": "b", "memorySearch": {"query": {"maxResults": 9}}}]}, "", "a", 5),
        ({"list": [{"id": "a"}, {"id": "b", "memorySearch": {"query": {"maxResults": 9}}}]}, "b", "b", 9),
        ({"list": [{"id": "a"}, {"id": "b", "default": True}]}, "", "b", 5),
        ({"list": []}, "", "main", 5),
    ],
)
def test_an_agent_may_have_its_own_settings(data: dict[str, Any], name: str, agent: str, limit: int) -> None:
    data = {"agents": {**data, "defaults": {"memorySearch": {"query": {"maxResults": 5}}}}}
    made = configured(data, FILE, name, release="2026.2.13")
    assert (made.agent, made.pipeline.limit) == (agent, limit)


def test_an_agents_own_settings_in_the_newer_form() -> None:
    entries = {"entries": {"a": {}, "b": {"memory": {"search": {"query": {"maxResults": 9}}}}}}
    made = configured({"agents": entries, "memory": {"search": {"query": {"maxResults": 5}}}}, FILE, "b")
    assert made.pipeline.limit == 9
    assert [one.fate for one in made.findings] == ["no effect", "used"]
    assert "agents.entries.b.memory.search.query.maxResults overrides it" in made.findings[0].description


# Which release


def test_a_file_that_names_no_release_is_not_guessed_between_releases_that_differ() -> None:
    with pytest.raises(InputError, match="does not say which release") as raised:
        configured({"agents": {"defaults": {"memorySearch": {"query": {"maxResults": 9}}}}}, FILE)
    assert "2026.2.13, 2026.2.15, 2026.2.27, 2026.3.7, 2026.7.1" in raised.value.problem
    assert "--release 2026.7.1" in raised.value.remedy
    assert "openclaw-2026.7.1@openclaw.json" in raised.value.remedy


def test_releases_that_answer_the_same_need_no_name() -> None:
    made = configured(
        {"agents": {"defaults": {"memorySearch": {"query": {"hybrid": {"enabled": False}}}}}}, FILE
    )
    assert made.choice.why == "all releases that know its keys answer the same"
    assert "keyword_leg" not in [stage.slot for stage in made.pipeline.stages]


@pytest.mark.parametrize("release", ["2026.2.15", "openclaw-2026.2.15", "2026.2.20-1"])
def test_a_release_that_is_named_wins(release: str) -> None:
    made = configured({"meta": {"lastTouchedVersion": "2026.7.1"}}, FILE, release=release)
    assert made.choice.release == "2026.2.15"
    assert made.choice.why


def test_the_release_before_the_first_searches_like_it() -> None:
    """npm has 2026.2.12 and no 2026.2.13; the record of 2026.2.12 is replayed as 2026.2.13."""
    made = configured({}, FILE, release="2026.2.12")
    assert (made.choice.release, made.choice.why) == ("2026.2.13", "2026.2.12 searches like it")
    wrote = configured({"meta": {"lastTouchedVersion": "2026.2.12"}}, FILE)
    assert wrote.choice.why == "2026.2.12 wrote the file, which searches like it"


@pytest.mark.parametrize("release", ["newest", "2025.1.1", "2026.2.9", "15"])
def test_a_release_that_is_not_known_is_refused_with_those_that_are(release: str) -> None:
    with pytest.raises(InputError, match="not a release") as raised:
        configured({}, FILE, release=release)
    assert "2026.9.6" in raised.value.remedy


@pytest.mark.parametrize(
    "name", ["openclaw-2026.9.6", "openclaw-2026.3.2", "openclaw-2026.2.13+or", "am-150"]
)
def test_a_system_before_the_file_is_the_one_that_its_settings_change(name: str, tmp_path: Path) -> None:
    file = written(tmp_path, "{agents: {defaults: {memorySearch: {query: {maxResults: 3}}}}}")
    changed = system(f"{name}@{file}")
    assert changed.limit == 3
    assert changed.name.endswith("@openclaw.json")
    base = SYSTEMS.get(name) or SYSTEMS["openclaw-2026.2.27"]
    assert "limit" in [one.slot for one in base.diff(changed)]


# OpenClaw's keys as --set


@pytest.mark.parametrize("before", ["", "memorySearch.", "agents.defaults.memorySearch.", "memory.search."])
def test_set_takes_openclaws_own_keys(run: Run, before: str) -> None:
    settings = ["--set", f"{before}query.maxResults=9", "--set", f"{before}query.minScore=0.2"]
    shown = run("show", "openclaw-2026.2.13", *settings, "--json").json()
    assert "first 9" in json.dumps(shown)
    assert "below 0.2" in json.dumps(shown)


def test_a_weight_that_is_set_is_scaled_with_the_other_one() -> None:
    fusion = parameters(with_keys(SHIPPED, ["query.hybrid.vectorWeight=0.5"])["fusion"])
    assert (fusion["vector"], fusion["keyword"]) == (pytest.approx(0.625), pytest.approx(0.375))


@pytest.mark.parametrize("release", ["2026.2.13", "2026.2.15", "2026.7.1", "2026.9.6"])
@pytest.mark.parametrize(
    "query", [{}, {"minScore": 0.35, "maxResults": 6, "hybrid": {"vectorWeight": 0.2}}], ids=["usual", "own"]
)
def test_a_key_does_the_same_as_an_option_and_pasted_into_the_file(
    release: str, query: dict[str, Any]
) -> None:
    def of_file(content: dict[str, Any]) -> Pipeline:
        return configured(content, FILE, release=release).pipeline

    form = ("memory", "search") if release == "2026.9.6" else ("agents", "defaults", "memorySearch")
    own: dict[str, Any] = {"query": query}
    for key in reversed(form):
        own = {key: own}
    pipeline = of_file(own)
    assert keys_of(pipeline)
    for one in keys_of(pipeline):
        value = one.choices[0] if one.choices else max(one.low, 3) if one.whole else 0.3
        typed = with_keys(pipeline, [f"{one.name}={json.dumps(value)}"])
        content = to_paste(typed, {one.name: value})
        assert content is not None
        pasted = of_file(merged(own, content))
        assert typed.stages == pasted.stages, one.name
        assert typed.name.endswith("@openclaw.json")


def test_switches_add_and_remove_their_stages() -> None:
    base = SYSTEMS["openclaw-2026.2.15"]
    on = ["query.hybrid.mmr.enabled=true", "query.hybrid.mmr.lambda=0.5"]
    assert parameters(with_keys(base, on)["diversity"])["relevance_weight"] == 0.5
    assert with_keys(with_keys(base, on), ["query.hybrid.mmr.enabled=false"]).diff(base) == []
    alone = with_keys(SHIPPED, ["query.hybrid.enabled=false"])
    assert "keyword_leg" not in [stage.slot for stage in alone.stages]


@pytest.mark.parametrize(("setting", "said"), TABLES["refused"].items())
@pytest.mark.parametrize(
    "command", [["show", "openclaw-2026.2.13"], ["evaluate", "-s", "openclaw-2026.2.13"]]
)
def test_a_key_that_cannot_be_set_is_refused(run: Run, command: list[str], setting: str, said: str) -> None:
    refused = run(*command, "--set", setting)
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err


# Keys without effect, and keys that are not known


def test_every_key_that_openclaw_knows_has_a_fate_and_a_reason() -> None:
    whole = nested(USUAL)
    whole["remote"] |= {"baseUrl": "http://h", "apiKey": "k", "headers": {"A": "b"}}
    whole["local"], whole["cache"]["maxEntries"] = {"modelPath": "m", "modelCacheDir": "c"}, 5
    whole["store"]["path"], whole["store"]["vector"]["extensionPath"] = "/p", "/e"
    for made in (february(whole), september(whole)):
        assert {one.key.partition("earch.")[2].partition(".")[0] for one in made.findings} == whole.keys()
        assert all(one.description for one in made.findings)
        assert not [one.key for one in made.findings if one.fate == "unknown"]


def test_every_unknown_key_is_named_and_the_rest_is_used() -> None:
    made = february(
        {"query": {"minscore": 0.2, "maxResults": 3, "hybrid": {"rrf": {"k": 60}}}, "qmd": True},
        memory={"backend": "qmd", "citations": "on"},
    )
    assert [one.key for one in made.findings if one.fate == "unknown"] == [
        "agents.defaults.memorySearch.query.minscore",
        "agents.defaults.memorySearch.query.hybrid.rrf.k",
        "agents.defaults.memorySearch.qmd",
        "memory.backend",
    ]
    assert "the most similar key is query.minScore" in finding(made, "minscore").description
    assert (made.pipeline.limit, made.pipeline.floor, made.citations) == (3, 0.35, "on")


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"minScore": 0.1}, "query.minScore"),
        ({"query": {"minScore": 0.1}}, "query.minScore"),
        ({"memorySearch": {"query": {"minScore": 0.1}}}, "query.minScore"),
        ({"memorySearch": {"hybrid": {"vectorWeight": 0.1}}}, "query.hybrid.vectorWeight"),
        ({"agents": {"memorySearch": {"provider": "openai"}}}, "provider"),
        (
            {"agents": {"defaults": {"memorySearch": {"enabled": True}, "query": {"minScore": 0}}}},
            "query.minScore",
        ),
        ({"memory": {"query": {"minScore": 0.1}}}, "query.minScore"),
    ],
    ids=str,
)
def test_a_setting_that_stands_elsewhere_is_told_its_place(data: dict[str, Any], place: str) -> None:
    (found,) = [one for one in configured(data, FILE, release="2026.3.7").findings if one.fate == "unknown"]
    assert found.description == f"not read there: its place is agents.defaults.memorySearch.{place}"


def test_a_value_out_of_its_range_says_what_became_of_it() -> None:
    assert finding(february({"query": {"minScore": 7}}), "minScore").description == "floor.floor = 1, not 7"


# What cannot be used


def test_every_wrong_value_is_named_with_its_key() -> None:
    with pytest.raises(InputError) as raised:
        february({"query": {"maxResults": "six", "minScore": None}, "chunking": {"tokens": 0}, "enabled": 1})
    lines = raised.value.problem.splitlines()
    assert [line.partition(" is ")[0] for line in lines] == [
        "openclaw.json: agents.defaults.memorySearch.enabled",
        "openclaw.json: agents.defaults.memorySearch.chunking.tokens",
        "openclaw.json: agents.defaults.memorySearch.query.maxResults",
    ]
    assert "is six: Input should be a valid integer" in lines[2]


@pytest.mark.parametrize(("text", "said"), [*TABLES["unusable"].items(), ("[" * 100_000, "cannot be read")])
def test_a_file_that_cannot_be_used_is_an_error(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        read(written(tmp_path, text))


def test_a_missing_file_and_a_missing_agent_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json cannot be read"):
        read(tmp_path / "none.json")
    with pytest.raises(InputError, match="no agent 'coder'") as raised:
        read(f"{written(tmp_path, '{agents: {list: [{id: 1}]}}')}#coder")
    assert raised.value.remedy == "It has 1."


# As a system, and on the command line

JSON5 = """
{ // JSON5: comments, bare keys, a comma at the end
  meta: {lastTouchedVersion: "2026.2.13"},
  agents: {defaults: {workspace: "WORKSPACE", memorySearch: {
    provider: 'ollama', model: 'm', remote: {baseUrl: 'http://gpu:9', apiKey: 'sk-secret'},
    query: {maxResults: 2, minScore: 0.1, typo: 1},
  }}},
}
"""


def test_a_configuration_replaces_defaults(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    world.build(tmp_path).close()
    root = tmp_path / "memory_of_wren"
    file = written(tmp_path, JSON5.replace("WORKSPACE", str(root)))
    shown = run("--config", file, "show", "--json")
    assert shown.json()["name"] == "openclaw-2026.2.13@openclaw.json"
    assert "2 keys without effect here or unknown" in shown.err
    assert "read as a file of OpenClaw 2026.2.13, because 2026.2.13 wrote the file." in shown.err
    assert "asks for ollama at http://gpu:9, an address that you have not named" in shown.err
    assert run("show", "openclaw-2026.2.13", "--json").json()["name"] == "openclaw-2026.2.13"
    refused = run("--config", file, "index", root)
    assert refused.code == 2
    assert "at http://gpu:9, an address that you have not named" in refused.err
    assert "--base-url http://gpu:9" in refused.err
    assert os.environ["OLLAMA_HOST"] == ""
    named = run("--config", file, "--base-url", "http://gpu:9", "index")
    assert (named.code, f"names the memory {root}, which you have not named" in named.err) == (2, True)
    named = run("--config", file, "--base-url", "http://gpu:9", "index", root)
    assert named.code == 4
    assert "ollama/m failed" in named.err
    assert "http://gpu:9" in named.err


def test_what_is_typed_wins_over_the_configuration(run: Run, tmp_path: Path) -> None:
    world.build(tmp_path).close()
    file = written(tmp_path, JSON5.replace("WORKSPACE", str(tmp_path / "nowhere")))
    found = run(
        "--config", file, "show", "--limit", 4, "--set", "fusion.vector=0.5", "--json"
    )  # fmt: skip
    limits = [one for one in found.json()["stages"] if one["slot"] == "limit"]
    assert "first 4" in json.dumps(limits)
    other = run("--config", file, "show", "am-150", "--json").json()
    assert other["name"] == "am-150@openclaw.json"
    assert "first 2" in json.dumps(other)


def test_an_unknown_key_is_named_with_the_nearest_one_and_the_command_that_shows_all(
    run: Run, tmp_path: Path
) -> None:
    text = "{agents: {defaults: {memorySearch: {query: {minscore: 0.1}}}}}"
    file = written(tmp_path, text, "my openclaw.json")
    told = run("--config", file, "--release", "2026.9.6", "show").err
    key = "agents.defaults.memorySearch.query.minscore: unknown; the most similar key is query.minScore."
    assert f"1 key without effect here or unknown. The first is {key}" in told
    assert f"All of them: workbench config '{file}' --release 2026.9.6\n" in told
    assert "does not say which release" in run("config", file).err
    assert key.partition(":")[0] in run("config", file, "--release", "2026.9.6").out


def test_a_file_without_a_key_of_memory_search_is_said_to_have_none(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path, "{model: 'm', tools: {web: {search: {maxResults: 5}}}}")
    told = run("--config", file, "--release", "2026.9.6", "show").err
    command = f"workbench config {file} --release 2026.9.6"
    assert (
        f"no key of memory search is in it, so nothing of it is used. What is read in it: {command}" in told
    )
    assert "agents.defaults.memorySearch or memory.search" in run("config", file, "--release", "2026.9.6").out


def test_config_prints_what_each_key_became(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path, JSON5)
    printed = run("config", file)
    assert printed.code == 1
    assert "✓ agents.defaults.memorySearch.query.maxResults = 2\n    limit.count = 2" in printed.out
    assert "? agents.defaults.memorySearch.query.typo = (not shown)\n    unknown" in printed.out
    assert "– agents.defaults.memorySearch.remote.apiKey = (a secret)" in printed.out
    assert "sk-secret" not in printed.out
    data = run("--config", file, "config", "--json").json()
    assert data["model"] == "ollama/m"
    assert {one["fate"] for one in data["keys"]} == {"used", "no effect", "unknown"}


def test_config_exits_with_0_when_every_key_is_known(run: Run, tmp_path: Path) -> None:
    settings = {"agents": {"defaults": {"memorySearch": {"enabled": True}}}}
    text = json.dumps({"meta": {"lastTouchedVersion": "2026.2.13"}, **settings})
    assert run("config", written(tmp_path, text)).code == 0
    empty = run("config", written(tmp_path, "{}"), "--release", "2026.2.13")
    assert (empty.code, "sets no key" in empty.out) == (0, True)


SECRETS = Path(__file__).with_name("secrets.json5")


@pytest.mark.parametrize("command", [["config"], ["config", "--json"], ["show"], ["systems"], ["index"]])
def test_no_command_prints_a_secret_of_the_configuration(
    run: Run, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "HIDDEN-19-of-the-environment")
    for outcome in (run("--config", SECRETS, *command), run(*command[:1], SECRETS, *command[1:])):
        assert "HIDDEN" not in outcome.out + outcome.err
        assert "Traceback" not in outcome.err


@pytest.mark.parametrize("key", ["remote.apiKey", "query.maxResults", "remote.baseUrl", "remote.headers"])
def test_no_error_prints_a_secret_of_the_configuration(run: Run, tmp_path: Path, key: str) -> None:
    outer, _, inner = key.partition(".")
    secret = "sk-HIDDEN-0123456789"
    value = {"HIDDEN": [f"Bearer {secret}"]} if key == "remote.headers" else [secret]
    text = json.dumps({"memory": {"search": {outer: {inner: value}}}})
    outcome = run("config", written(tmp_path, text))
    assert "sk-HIDDEN" not in outcome.out + outcome.err
