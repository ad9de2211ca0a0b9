"""One set of parts takes five forms, and no text of a result gets out of its cell or line."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from workbench.records import Tabular
from workbench.tables import (
    Block,
    Box,
    Column,
    Fold,
    Line,
    Note,
    Part,
    Picture,
    Table,
    html_of,
    html_table,
    json_rows,
    markdown_block,
    markdown_table,
    numbers,
    tidy,
)
from workbench.terminal import text_of
from workbench.views.show import parts_of, show

TABLE = Table("two teas", ["name", *numbers("score")], [("rooibos", "0.5"), ("mint", "0.25")])
HOSTILE = "a\n<b>|c|\x1b[2J`d`"


@dataclass
class OwnResult(Tabular):
    """A result as somebody else would write it."""

    scores: dict[str, float]

    def view(self) -> list[Part]:
        rows = [(name, f"{score:g}") for name, score in self.scores.items()]
        return [Line("teas", "bold"), Table("", ["name", *numbers("score")], rows)]

    def observations(self) -> Table:
        return tidy({"name": "str", "score": "float64"}, self.scores.items())


def test_a_table_has_the_same_cells_in_all_forms() -> None:
    assert text_of([TABLE]).split() == ["name", "score", "rooibos", "0.5", "mint", "0.25"]
    assert json_rows(TABLE) == [{"name": "rooibos", "score": "0.5"}, {"name": "mint", "score": "0.25"}]
    assert markdown_table(TABLE).splitlines()[2:] == ["| rooibos | 0.5 |", "| mint | 0.25 |"]
    html = html_table(TABLE)
    assert "<caption>two teas</caption>" in html
    assert '<th scope="row">rooibos</th><td class="right whole">0.5</td>' in html


@pytest.mark.parametrize("width", range(40, 120, 7))
def test_no_number_and_no_name_of_a_column_is_cut_on_a_narrow_page(width: int) -> None:
    names = ("score\nweighted sum", "late\ninteraction of the file", "title\nshare", "best\npassage")
    row = ("0.4257", "0.1234", "0.0789", "0.5575")
    table = Table(
        "", [*numbers(*names), Column("chunk", "whole")], [(*row, "memory/gluten-free-bread.md:3-4")]
    )
    printed = text_of([table], width=width)
    assert all(len(line) <= width for line in printed.splitlines())
    assert set(row) <= set(printed.split())
    assert sorted("".join(printed.split())) == sorted(
        "".join((*names, "chunk", *table.rows[0])).replace("\n", "").replace(" ", "")
    )


def test_a_result_of_ones_own_prints_itself_and_is_a_page_and_a_frame(
    capsys: pytest.CaptureFixture[str],
) -> None:
    mine = OwnResult({"rooibos": 0.5})
    show(mine)
    assert capsys.readouterr().out.split() == ["teas", "name", "score", "rooibos", "0.5"]
    assert "<b>teas</b>" in mine._repr_mimebundle_()["text/html"]
    assert mine.to_frame().to_dict("list") == {"name": ["rooibos"], "score": [0.5]}


def test_a_list_shows_each_of_its_results_and_any_other_value_its_text() -> None:
    one, other = OwnResult({"a": 1.0}), OwnResult({"b": 2.0})
    assert parts_of([one, other, "end"]) == [*one.view(), *other.view(), "end"]
    assert parts_of(3) == [Block("3")]


def test_a_terminal_leaves_folds_and_pictures_out() -> None:
    parts = [Picture("stages", [[Box("fusion", "sums")]]), "seen", Fold("more", ["hidden"])]
    assert text_of(parts) == "seen"
    html = html_of(parts)
    assert 'title="sums">fusion</span>' in html
    assert "<summary>more</summary>" in html
    assert "hidden" in html


@pytest.mark.parametrize("head", ["", "Repair: "])
@pytest.mark.parametrize(
    "command",
    [
        "workbench index FOLDER", "perl -pi -e 's/a/b/' FOLDER/a.md",
        "cp FOLDER/a.md FOLDER/b.md && iconv FOLDER/b.md > FOLDER/a.md",
        "mv -n FOLDER/a.txt FOLDER/a.md && workbench index FOLDER",
        "mkdir -p FOLDER/b && mv -n FOLDER/a.md FOLDER/b && workbench index FOLDER",
    ],
)  # fmt: skip
def test_a_command_is_printed_in_one_line_on_a_narrow_page(head: str, command: str) -> None:
    command = command.replace("FOLDER", "/home/ana/notes of the year/memory")
    assert text_of([f"{head}{command}"], width=30).splitlines()[-1].strip() == command


def test_a_page_folds_the_reason_of_a_note_and_a_terminal_prints_it() -> None:
    note = Note("Other than Ana makes it", "(water, order). To match it: brew")
    assert text_of([note]) == "Other than Ana makes it (water, order). To match it: brew"
    folded = html_of([note])
    assert "<summary>Other than Ana makes it</summary>" in folded
    assert "(water, order). To match it: brew" in folded


def test_a_notebook_shows_a_result_as_the_value_itself_and_details_as_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[object] = []
    monkeypatch.setattr("workbench.views.show.in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", shown.append)
    mine = OwnResult({"rooibos": 0.5})
    show(mine)
    assert shown == [mine]
    assert capsys.readouterr().out == ""
    show(mine, details=True)
    assert "rooibos" in capsys.readouterr().out


def test_no_text_adds_a_line_or_markup_or_a_control_character() -> None:
    table = Table("", [Column("n"), "m"], [(HOSTILE, "x")])
    for text in (text_of([HOSTILE, table]), html_of([HOSTILE, Line(HOSTILE), table]), markdown_table(table)):
        assert "\x1b" not in text
    assert len(text_of([HOSTILE]).splitlines()) == 1
    assert "<b>" not in html_of([HOSTILE, Block(HOSTILE), Note(HOSTILE, HOSTILE), table])
    assert markdown_table(table).splitlines()[2].count("|") == 3
    assert markdown_block("```\nx").startswith("````\n")


def test_a_key_of_the_environment_is_in_no_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "key-of-the-environment-1")
    table = Table("", ["key"], [("key-of-the-environment-1",)])
    assert "key-of-the" not in text_of([table]) + html_of([table])
