"""A sweep as a table and as figures."""

from __future__ import annotations

import pytest

from tests.lab.sweep.test_running import QUESTIONS
from workbench.errors import InputError
from workbench.memory.index import MemoryIndex
from workbench.systems.openclaw import SHIPPED, THREE_FIXES
from workbench.views.text import show
from workbench_plugins.diagnose.figures import grid_of, pareto_figure, sweep_figure
from workbench_plugins.diagnose.sweep import Sweep, flattery, sweep


@pytest.fixture(scope="module")
def grid(toy: MemoryIndex) -> Sweep:
    return sweep(THREE_FIXES, ["fusion.vector=0:1:5", "floor.floor=0:1:6"], QUESTIONS, toy)


def test_the_table_names_the_best_the_present_and_the_held_out_worth(
    grid: Sweep, capsys: pytest.CaptureFixture[str]
) -> None:
    show(grid)
    printed = " ".join(capsys.readouterr().out.split())
    assert "30 settings, 6 questions, 3 unanswerable questions" in printed
    assert "best, front" in printed
    assert "0.7 0.35" in printed
    assert "held out: chosen on 2 of 3 parts" in printed
    assert "The best setting's own number is not better than that." in printed


def test_a_best_setting_that_looks_better_than_it_is_is_said_to() -> None:
    assert flattery(0.02, "hits") == "The best setting's own number flatters it by 2 points."
    assert flattery(0.125, "RR") == "The best setting's own number flatters it by 0.125 RR."
    assert "not better" in flattery(-0.02, "hits")


def test_a_heat_map_has_a_cell_for_each_setting_and_marks_the_present_one(grid: Sweep) -> None:
    heat, now, star = sweep_figure(grid).data
    assert grid_of(grid).shape == (6, 5)
    assert heat.z[0][0] == grid.values[0].sum() + grid.silent[0].sum()
    assert (list(now.x), list(now.y)) == (["0.7"], ["0.35"])
    assert star.name == "best"


def test_one_axis_is_a_line(toy: MemoryIndex) -> None:
    figure = sweep_figure(sweep(SHIPPED, ["query.join=AND,OR"], QUESTIONS, toy))
    assert figure.layout.xaxis.type == "category"
    assert len(figure.data[0].y) == 2


def test_parameters_that_moved_alone_have_no_map(toy: MemoryIndex) -> None:
    axes = ["fusion.vector=0,1", "floor.floor=0,1"]
    with pytest.raises(InputError, match="no map"):
        sweep_figure(sweep(SHIPPED, axes, QUESTIONS, toy, one_at_a_time=True))


def test_the_front_is_drawn_with_the_present_setting(grid: Sweep) -> None:
    settings, front, now = pareto_figure(grid).data
    assert len(settings.x) == 30
    assert (front.name, now.name) == ("front", "now")
