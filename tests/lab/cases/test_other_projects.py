"""A case as a test of another project: standalone, and true to the answer of that project's search."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.commands import Run
from tests.conftest import PROJECT
from workbench.memory.data_files import load_data
from workbench_plugins.cases import exporting

CASE = PROJECT / "tests" / "cases" / "basic-memory-577.case.yaml"
OPENCLAW = """
import json, sys, urllib.request
from pathlib import Path
import os
if sys.argv[1] == "--version":
    sys.exit(print("OpenClaw 2026.9.6 (abc)"))
config = json.loads(Path(os.environ["OPENCLAW_CONFIG_PATH"]).read_text())
if sys.argv[2] == "index":
    sys.exit()
notes = Path(config["agents"]["defaults"]["workspace"])
texts = [sys.argv[-1], *(one.read_text() for one in sorted(notes.rglob("*.md")))]
body = json.dumps({"model": "m", "input": texts}).encode()
url = config["memory"]["search"]["remote"]["baseUrl"] + "/embeddings"
rows = json.load(urllib.request.urlopen(urllib.request.Request(url, body)))["data"]
asked, *vectors = [one["embedding"] for one in rows]
cosines = [sum(a * b for a, b in zip(asked, one)) for one in vectors]
names = [str(one.relative_to(notes)) for one in sorted(notes.rglob("*.md"))]
best = sorted(zip(cosines, names), reverse=True) if WORKS else []
print("a log line\\n" + json.dumps({"results": [{"path": name} for _, name in best]}))
"""
"""Stands in for OpenClaw's command: it reads the same configuration, and asks the same server for vectors."""


@pytest.mark.parametrize("project", load_data(exporting.__file__, "exports.toml")["pytest_for"])
def test_a_test_for_pytest_imports_nothing_of_ours_and_is_python(
    project: str, run: Run, tmp_path: Path
) -> None:
    assert run("case", "export", CASE, tmp_path, "--to", "pytest", "--for", project).code == 0
    text = (tmp_path / "test_basic_memory_577.py").read_text()
    compile(text, project, "exec")
    assert "import workbench" not in text
    assert "from workbench" not in text


PACKAGES = {
    *("pytest", "vitest", "langchain-classic", "langchain-community", "rank-bm25", "llama-index-core"),
    *("llama-index-retrievers-bm25", "mem0ai", "basic-memory", "openclaw"),
}
"""What a comment of an exported test may install: each is a package of the project that it is for."""


@pytest.mark.parametrize("kind", exporting.FORMS)
def test_the_comment_of_a_test_installs_packages_alone_and_no_word_of_its_sentence(
    kind: str, run: Run, tmp_path: Path
) -> None:
    for project in load_data(exporting.__file__, "exports.toml")[f"{kind}_for"]:
        assert run("case", "export", CASE, tmp_path, "--to", kind, "--for", project, "--force").code == 0
        text = (tmp_path / exporting.FORMS[kind].format("basic_memory_577")).read_text()
        (found,) = re.findall(r"Install: (?:pip install|npm install --save-dev) ([^.\n]+)", text)
        assert set(found.split()) <= PACKAGES, project


def test_the_action_installs_a_folder_and_never_a_name(tmp_path: Path) -> None:
    action = yaml.safe_load((PROJECT / ".github/actions/search-cases/action.yml").read_text(encoding="utf-8"))
    (step,) = [one for one in action["runs"]["steps"] if "pip install" in one.get("run", "")]
    program = tmp_path / "bin" / "python"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    program.chmod(0o755)
    (tmp_path / "mine").mkdir()
    given = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "GITHUB_ACTION_PATH": str(tmp_path)}
    for package, code in (("mine", 0), ("hybrid-search-workbench", 2), ("--index-url=http://host", 2)):
        ended = subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            env={**given, "PACKAGE": package},
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        assert ended.returncode == code, package
    (asked,) = (tmp_path / "asked").read_text().splitlines()
    assert asked.endswith(f"pytest {tmp_path / 'mine'}")


@pytest.mark.parametrize(("works", "code"), [(True, 0), (False, 1)])
def test_the_exported_test_passes_if_the_file_is_found_and_fails_if_not(
    works: bool, code: int, run: Run, tmp_path: Path
) -> None:
    run("case", "export", CASE, tmp_path, "--to", "pytest")
    program = tmp_path / "openclaw"
    program.write_text(f"#!{sys.executable}\nWORKS = {works}\n{OPENCLAW}")
    program.chmod(0o755)
    given = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    ended = subprocess.run(command, env=given, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stdout


def test_a_test_for_vitest_holds_the_case(run: Run, tmp_path: Path) -> None:
    assert run("case", "export", CASE, tmp_path, "--to", "vitest").code == 0
    text = (tmp_path / "basic_memory_577.test.mjs").read_text()
    start = text.index("String.raw`") + len("String.raw`")
    held = json.loads(text[start : text.index("`", start)])
    assert held["questions"][0]["expect"] == {"found": "notes/tea.md"}
    assert [one["path"] for one in held["passages"]] == ["notes/tea.md", "notes/mill.md"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--to", "jest"], "kind of test"),
        (["--to", "pytest", "--for", "solr"], "project"),
        (["--to", "vitest", "--for", "mem0"], "project"),
    ],
)
def test_what_cannot_be_exported_is_refused(options: list[str], said: str, run: Run, tmp_path: Path) -> None:
    refused = run("case", "export", CASE, tmp_path / "out", *options)
    assert (refused.code, said in refused.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_case_with_signs_that_end_a_string_is_still_a_test(run: Run, tmp_path: Path) -> None:
    data = yaml.safe_load(CASE.read_text())
    data["memory"]["notes"][0]["text"] = 'Tea """ \\ `x` ${y} \\" cups'
    data["title"] = 'a """ title \\'
    (tmp_path / "odd.case.yaml").write_text(yaml.safe_dump(data))
    run("case", "export", tmp_path / "odd.case.yaml", tmp_path, "--to", "pytest", "--for", "mem0")
    text = (tmp_path / "test_odd.py").read_text()
    start = text.index('json.loads(r"""') + len('json.loads(r"""')
    held = json.loads(text[start : text.index('"""', start)])
    assert held["passages"][0]["text"].strip() == data["memory"]["notes"][0]["text"]
    compile(text, "odd", "exec")


@pytest.mark.parametrize(
    "odd", ["@CASE@", "@ADAPTER@ @SERVER@ @TITLE@", "*/ ` ${x} \u2028 \n import os", '"""\n1/0']
)
def test_no_text_of_a_case_is_read_as_a_place_of_the_template(odd: str, run: Run, tmp_path: Path) -> None:
    data = yaml.safe_load(CASE.read_text())
    made = {}
    for name, text in (("plain", "plain"), ("odd", odd)):
        data |= {"title": text, "references": [text], "note": text}
        (tmp_path / f"{name}.case.yaml").write_text(yaml.safe_dump(data))
        for kind in ("pytest", "vitest"):
            assert run("case", "export", tmp_path / f"{name}.case.yaml", tmp_path, "--to", kind).code == 0
        made[name] = ast.parse((tmp_path / f"test_{name}.py").read_text()).body[1:]  # without its docstring
    assert [ast.dump(one) for one in made["odd"]] == [ast.dump(one) for one in made["plain"]]
    lines = [(tmp_path / f"{name}.test.mjs").read_text().splitlines()[2:] for name in ("odd", "plain")]
    assert lines[0] == lines[1]


def test_the_demo_fails_as_stated_and_names_what_saves_it(run: Run) -> None:
    told = run("demo", "--json").json()
    assert "or" in told["saved_by"]
    assert "FAILS: memory/shed.md" in run("demo").out
