"""The ways to set up name the same packages, and the snippets for clients start a server that exists."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docs.reference import root_command
from tests.conftest import PROJECT

ROOT: Any = root_command()
AGENTS = (PROJECT / "docs" / "memories.md").read_text(encoding="utf-8")


def text(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def pin(package: str) -> str:
    found = re.search(rf"^{package}==(.+)$", text("constraints.txt"), re.M)
    assert found
    return found[1]


def test_the_environment_for_conda_takes_the_pinned_torch_from_conda() -> None:
    environment = yaml.safe_load(text("environment.yml"))
    *packages, by_pip = environment["dependencies"]
    assert f"pytorch-cpu={pin('torch')}" in packages
    assert by_pip == {"pip": ["--constraint constraints.txt", "--editable .[lab]"]}


def test_every_way_installs_with_the_same_uv_and_the_pins() -> None:
    for name in ("Makefile", "Dockerfile"):
        assert re.findall(r"uv==([\d.]+)", text(name)) == ["0.13.9"]
        assert "--constraint constraints.txt --constraint requirements.lock --editable '.[" in text(name)
        assert "--torch-backend" in text(name)


def test_every_package_of_every_extra_is_pinned_with_its_hashes() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    extras = project["optional-dependencies"]
    named = {Requirement(one).name for some in (project["dependencies"], *extras.values()) for one in some}
    lock = text("requirements.lock")
    plain = {canonicalize_name(one) for one in re.findall(r"^([\w.-]+)==", lock, re.M)} | {"torch"}
    pinned = {canonicalize_name(one) for one in re.findall(r"^([\w.-]+)==", text("constraints.txt"), re.M)}
    assert {canonicalize_name(one) for one in named} - (plain & pinned) == set()
    assert all(f"--extra {one}" in lock for one in ("lab", "test", "bench"))


def test_the_base_image_is_named_by_its_digest() -> None:
    images = re.findall(r"^FROM (.+)$", text("Dockerfile"), re.M)
    assert images
    assert all(re.fullmatch(r"\S+@sha256:[0-9a-f]{64}", one) for one in images)


def test_the_development_container_uses_the_dockerfile_that_is_there() -> None:
    container = json.loads(text(".devcontainer/devcontainer.json"))
    assert (PROJECT / ".devcontainer" / container["build"]["dockerfile"]).resolve() == PROJECT / "Dockerfile"
    assert "[lab,test]" in container["postCreateCommand"]


def servers() -> list[dict[str, Any]]:
    """The server of each snippet, whatever the client calls the table."""
    read = [json.loads(one) for one in re.findall(r"^```json\n(.*?)^```", AGENTS, re.M | re.S)]
    read += [tomllib.loads(one) for one in re.findall(r"^```toml\n(.*?)^```", AGENTS, re.M | re.S)]
    for place, data in enumerate(read):
        while "command" not in data:
            data = next(iter(data.values()))
        read[place] = data
    return read


def test_a_snippet_for_each_common_client_starts_the_server_with_options_that_it_has() -> None:
    assert len(servers()) == 4
    for server in servers():
        assert server["command"].endswith("/workbench")
        command, *arguments = server["args"]
        options = {option for one in ROOT.commands[command].params for option in one.opts}
        assert {one for one in arguments if one.startswith("-")} <= options
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "OpenClaw"):
        assert client in AGENTS


def test_no_file_names_the_host_of_a_package_index() -> None:
    names = ("README.md", "Makefile", "Dockerfile", "environment.yml", "constraints.txt", "pyproject.toml")
    host = re.compile(r"py(?:torch|pi)\.org|python(?:hosted)|ana(?:conda)\.(?:org|com)")
    assert [name for name in names if host.search(text(name))] == []
