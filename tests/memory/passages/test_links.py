"""A file is found by what another file says beside a link to it."""

from __future__ import annotations

import pytest

from tests.home import Home
from workbench.retrieval.explain import explain
from workbench.retrieval.pipeline import search
from workbench.terminal import text_of
from workbench_plugins.recommended.links import Link, Links, links_in
from workbench_plugins.recommended.pipelines import RECOMMENDED


@pytest.mark.parametrize(
    ("line", "target", "beside"),
    [
        ("- [Kites](kites.md): strings and tails", "/memory/kites", "kite string tail"),
        ("12. [Kites](../memory/kites.md#tails) fly", "/memory/kites", "kite fly"),
        ("| see | [Kites](</out/kites> 'a title') |", "out/kites", "see kite"),
        ("* see [Kites](my%20kites.md)", "my kites", "see kite"),
        ("  + see [[Kites#tails|the tails]] here", "kites", "see tail"),
        ("- see [[Kites]]", "kites", "see kite"),
        ("- read [oaks](out/index.md)", "out", "read oak"),
        ("Prose says of [kites](kites.md) what it likes.", "kites", "kite"),
    ],
)
def test_a_link_names_a_file_and_what_its_line_says(line: str, target: str, beside: str) -> None:
    assert (target, beside) in links_in("memory/tea.md", [line])


@pytest.mark.parametrize(
    "line",
    ["![Kites](kites.png)", "[Kites](https://kites.example/kites)", "[top](#kites)", "- kites [1] (2)"],
)
def test_an_image_an_address_and_an_anchor_are_no_links_to_files(line: str) -> None:
    assert links_in("memory/tea.md", [line]) == []


def lines_to(paths: list[str], texts: dict[str, str]) -> dict[str, list[set[str]]]:
    """The lines that link to each file."""
    links = Links(paths, [links_in(path, texts.get(path, "").splitlines()) for path in paths])
    return {path: [set(line) for line in links.lines_to(at)] for at, path in enumerate(paths)}


def test_a_name_of_several_files_links_to_the_one_beside_it_or_to_none() -> None:
    paths = ["a/hub.md", "a/setup.md", "b/hub.md", "b/setup.md"]
    beside = lines_to(paths, {"a/hub.md": "- [Setup](setup.md) for oak"})
    assert beside == {"a/hub.md": [], "a/setup.md": [{"setup", "oak"}], "b/hub.md": [], "b/setup.md": []}
    wiki = lines_to([*paths, "c/note.md"], {"c/note.md": "[[setup]] and [[b/hub]]"})
    assert {path for path, lines in wiki.items() if lines} == {"b/hub.md"}


def test_a_link_to_itself_and_the_same_line_twice_add_nothing() -> None:
    line = "- [Kites](kites.md) fly\n"
    found = lines_to(["kites.md", "tea.md"], {"kites.md": "- [Kites](kites.md) burn", "tea.md": line * 2})
    assert found["kites.md"] == [{"kite", "fly"}]


def test_a_line_that_links_to_a_file_speaks_for_it_until_it_is_gone(home: Home) -> None:
    folder = home.root / "memory"
    for name in ("frame", "wheel"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nAluminium.", encoding="utf-8")
    found = list[tuple[float, float]]()
    for line in ("", "- [Wheel](wheel.md): aluminium spokes, and truing", "nothing"):
        (folder / "hub.md").write_text(f"# Bike\n\n{line}\n", encoding="utf-8")
        home.sync()
        with home.opened() as index:
            trace = search("truing aluminium spokes", RECOMMENDED, index)
        paths = [chunk.path for chunk in trace.chunks]
        shares = trace.columns["link_score"]
        found.append((shares[paths.index("memory/frame.md")], shares[paths.index("memory/wheel.md")]))
    assert found == [(0, 0), (0, pytest.approx(1)), (0, 0)]


def test_an_explanation_names_the_line_of_a_link_share(home: Home) -> None:
    line = "- [Wheel](wheel.md): aluminium spokes"
    texts = {
        "wheel.md": "# Wheel\n\nAluminium.",
        "zoo.md": f"{line}, and truing",
        "hub.md": f"# Bike\n\n- [Wheel](wheel.md)\n{line}, and truing\n{line}, and truing",
        "axle.md": line,
    }
    for name, text in texts.items():
        (home.root / "memory" / name).write_text(text, encoding="utf-8")
    home.sync()
    with home.opened() as index:
        trace = search("truing aluminium spokes", RECOMMENDED, index)
        wheel, hub = (explain(trace, index, f"memory/{name}.md") for name in ("wheel", "hub"))
    best = wheel.verdicts[0]
    assert best.evidence == {"link_score": "the line memory/hub.md:4 links here"}
    assert "  link share 1: the line memory/hub.md:4 links here" in text_of(wheel.view()).split("\n")
    told = wheel.text().split("\n")
    after = next(at for at, one in enumerate(told) if one.startswith("  link share = "))
    assert told[after + 1].strip() == "the line memory/hub.md:4 links here"
    assert wheel.as_json()["chunks"][0]["evidence"] == best.evidence
    assert hub.verdicts[0].evidence == {}
    assert "links here" not in hub.text()


def test_a_line_that_is_not_found_again_is_told_by_its_file_alone() -> None:
    """Such as one that an older workbench has cut into other stems."""
    links = Links(["tea.md", "hub.md"], [[], [Link("tea", "green")]])
    [(stems, path)] = links.lines_to(0).items()
    assert links.place(0, stems, path, {1: "- [Tea](tea.md) black"}) == "hub.md"
    assert links.place(0, stems, path, {1: "", 2: "- [Green](tea.md)"}) == "hub.md:2"
