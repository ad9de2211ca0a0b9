"""The ways to set up name the same packages, and the snippets for clients start a server that exists."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import yaml

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
        assert "--constraint constraints.txt --editable '.[" in text(name)
        assert "--torch-backend" in text(name)


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
