"""Five thousand paths that want out of the memory: not one of them brings a byte from outside."""

from __future__ import annotations

import os
import random
import socket
import unicodedata
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import world
from workbench_plugins.agent.note_files import MemoryFiles, PathRefusedError
from workbench_plugins.agent.tool_contracts import FEBRUARY, SEPTEMBER, Answer, Contract
from workbench_plugins.agent.tools import AgentTools

PATHS = 5_000
SEED = 20260906
SECRET = "the-secret-that-lies-outside"

TABLES = yaml.safe_load(Path(__file__).with_name("hostile_paths.yaml").read_text(encoding="utf-8"))
OUTSIDE, LINKS = TABLES["outside"], TABLES["links"]


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """The six notes, with secrets beside them and above, and with links, a pipe, a socket and a folder."""
    root = world.write(tmp_path / "memory_of_wren")
    world.write(tmp_path, dict.fromkeys(OUTSIDE, SECRET))
    for path, target in LINKS.items():
        (root / path).symlink_to(target)
    os.mkfifo(root / "memory/pipe.md")
    (root / "memory/folder.md").mkdir()
    world.write(root, {"memory/folder.md/note.md": "a note in a folder with a note's name"})
    with socket.socket(socket.AF_UNIX) as listening, suppress(OSError):
        listening.bind(str(root / "memory/socket.md"))  # unless the folder's path is too long for a socket
    return root


# the paths

NAMES = """
memory Memory MEMORY mEmOrY memory. memory.. memory\u200b ｍｅｍｏｒｙ m\u0435mory MEMORY.md
memory.md Memory.md MEMORY.MD MEMORY\u3002md secret.md secret.txt secret link.md dir up root
self proc cwd fd 0 1 etc passwd dev null stdin zero .git config.md outside deep tea.md TEA.md
tea.md. .md .. ... . .… ．． ․․ ‥ ..; ..\u200b %2e%2e %2e. .%2e %252e%252e %c0%ae%c0%ae ..%2f
..%5c %2e%2e%2f ..\\ \\..\\ ~ ~root $HOME ${HOME} * ? file: file:// C: C:\\ \\\\?\\ CON NUL.md
::$DATA pipe.md socket.md folder.md loop.md memory_of_wren memory_of_wren2 ../.. ../../..
caf\u00e9.md cafe\u0301.md \u202e \ufeff \u00ad md.terces |cat - -- \ud800 \udc80
"""
JOINS = ["/", "/", "/", "/", "//", "/./", "/../", "\\", "%2f", "∕", "／", "\x00", "", "/ /"]
ENDS = [*[""] * 3, ".md", "/", "/.", ".", " ", "\x00", "\x00.md", "\n", "%00.md", "?.md", "/../tea.md"]


def aimed(root: Path) -> list[str]:
    """Paths that reach a secret, where nothing stops them."""
    outer = root.parent
    targets = [outer / path for path in OUTSIDE]
    through = [f"memory/{link}/{path}" for link in ("up", "root", "self/up") for path in OUTSIDE]
    through += [f"memory/root{target}" for target in targets]
    return [
        *map(str, targets),
        *(os.path.relpath(target, root) for target in targets),
        *(f"memory/../{os.path.relpath(target, root)}" for target in targets),
        *(f"/proc/self/root{target}" for target in targets),
        *(f"memory/dir/{name}" for name in ("secret.md", "deep/MEMORY.md", "../secret.md")),
        *through,
        *LINKS,
    ]


CHANGES: list[Callable[[str], str]] = [
    lambda path: path,
    lambda path: f"./{path}",
    lambda path: path.replace("/", "//"),
    lambda path: path.replace("/", "/./"),
    lambda path: path.replace("..", "%2e%2e"),
    lambda path: path.replace("/", "\\"),
    lambda path: path.swapcase(),
    lambda path: unicodedata.normalize("NFKC", path.replace(".", "．")),
    lambda path: unicodedata.normalize("NFD", path),
    lambda path: f" {path}\u00a0",
    lambda path: f"memory/{path}",
    lambda path: f"memory/tea.md/../../{path}",
    lambda path: f"MEMORY.md\x00{path}",
    lambda path: f"{path}\x00.md",
    lambda path: f"{'memory/../' * 500}{path}",
    lambda path: f"{'a/' * 3000}{'../' * 3000}{path}",
    lambda path: f"{'x' * 300}/{path}",
    lambda path: f"/{path}",
    lambda path: f"//{path}",
]


def hostile_paths(root: Path) -> list[str]:
    """The paths, the same on every run but for the folder that they aim at."""
    chance = random.Random(SEED)
    aims, names, found = aimed(root), NAMES.split(), dict[str, None]()
    while len(found) < PATHS:
        if chance.random() < 0.6:
            path = chance.choice(aims)
            for change in chance.sample(CHANGES, chance.randint(1, 3)):
                path = change(path)
        else:
            path = "".join(chance.choice(names) + chance.choice(JOINS) for _ in range(chance.randint(1, 6)))
        found[path + chance.choice(ENDS)] = None
    return list(found)


# what comes of them


def allowed_texts(root: Path) -> set[str]:
    """The whole text of every file that may be read."""
    texts = {(root / path).read_text(encoding="utf-8") for path in world.NOTES}
    return texts | {"a note in a folder with a note's name"}


@pytest.mark.parametrize("contract", [FEBRUARY, SEPTEMBER], ids=lambda one: one.release)
def test_no_path_brings_a_byte_from_outside(contract: Contract, memory: Path) -> None:
    tools, allowed = AgentTools(memory, contract=contract), allowed_texts(memory)
    outcomes: Counter[str] = Counter()
    for path in hostile_paths(memory):
        answer = tools.memory_get(path) if path.strip() else tools.call("memory_get", {"path": path})
        outcomes[outcome(answer)] += 1
        assert SECRET not in str(answer)
        assert not answer["text"] or answer["text"] in allowed | {text.removesuffix("\n") for text in allowed}
    assert outcomes.total() == PATHS
    assert outcomes["refused"] > 3_000
    assert outcomes["read"] > 10  # some go out and come back, so that not everything is refused


def outcome(answer: Answer) -> str:
    if answer.get("error", "").startswith("ENOENT") or answer.get("status") == "not_found":
        return "missing"
    return "refused" if "error" in answer else "read"


def test_a_reader_that_does_not_look_would_bring_many(memory: Path) -> None:
    brought = 0
    for path in hostile_paths(memory):
        with suppress(OSError, ValueError):
            file = memory / path.strip()
            brought += file.is_file() and SECRET.encode() in file.read_bytes()
    assert brought > 150


@pytest.mark.parametrize("path", [*LINKS, "memory/dir/secret.md", "memory/self/tea.md", "memory/pipe.md"])
def test_nothing_is_read_through_a_link_or_from_what_is_no_file(path: str, memory: Path) -> None:
    with pytest.raises(PathRefusedError):
        MemoryFiles(memory).read(path)


def test_a_refusal_does_not_say_what_is_outside(memory: Path) -> None:
    files, messages = MemoryFiles(memory), set()
    outside = ["../secret.md", "../none.md", "/etc/passwd", "/none", "memory/dir/none.md"]
    for path in outside:
        with pytest.raises(PathRefusedError) as error:
            files.read(path)
        messages.add(str(error.value))
    assert len(messages) == 1


def test_an_extra_folder_opens_itself_and_nothing_beside_it(memory: Path) -> None:
    (memory.parent / "outside" / "link.md").symlink_to("../secret.md")
    (memory.parent / "linked").symlink_to("outside")
    files = MemoryFiles(memory, extra=("../outside/deep", "../linked", "../outside/link.md"))
    assert files.read("../outside/deep/MEMORY.md").text == SECRET  # its owner has allowed it
    for path in ("outside/secret.md", "outside/deep/../secret.md", "linked/secret.md", "outside/link.md"):
        with pytest.raises(PathRefusedError):
            files.read(f"../{path}")


# a file that is swapped for a link at the worst moment


def swapped(inside: Path, target: Path) -> None:
    inside.rename(inside.with_name("away"))
    inside.symlink_to(target)


@pytest.mark.parametrize("moment", range(3))
@pytest.mark.parametrize(
    ("inside", "outside", "path"),
    [
        ("memory/tea.md", "secret.md", "memory/tea.md"),
        ("memory/deep", "outside", "memory/deep/secret.md"),
        ("memory", "outside", "memory/secret.md"),
    ],
)
def test_a_swap_between_two_steps_of_a_read_brings_nothing_from_outside(
    inside: str, outside: str, path: str, moment: int, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write(memory, {"memory/deep/secret.md": "a note", "memory/secret.md": "a note"})
    open_really, opened = os.open, 0

    def open_after_swap(*arguments: Any, **options: Any) -> int:
        nonlocal opened
        if opened == moment:
            swapped(memory / inside, memory.parent / outside)
        opened += 1
        return open_really(*arguments, **options)

    monkeypatch.setattr(os, "open", open_after_swap)
    read = AgentTools(memory).memory_get(path)
    assert SECRET not in str(read)
    assert read["text"] in ("", "a note", world.NOTES["memory/tea.md"].removesuffix("\n"))
    assert opened > moment
