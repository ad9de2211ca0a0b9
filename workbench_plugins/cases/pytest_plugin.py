"""Runs `*.case.yaml` files as tests, in any project in which the workbench is installed.

This module is imported at the start of every pytest run, so it imports nothing of the workbench until a case
is collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from workbench_plugins.cases import SUFFIX, is_case

if TYPE_CHECKING:
    from workbench.retrieval.pipeline import Pipeline
    from workbench_plugins.cases.case_results import Answered, CaseRun
    from workbench_plugins.cases.model import CaseFile

UPDATE = "--case-update"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option `--case-update`."""
    group = parser.getgroup("workbench", "cases of the hybrid-search workbench")
    group.addoption(
        UPDATE, action="store_true", help="Write what is observed now into the *.case.yaml files that run."
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Collects every file whose name ends with .case.yaml, and that begins with the key of a case."""
    if not (file_path.name.endswith(SUFFIX) and is_case(file_path)):
        return None
    collected: pytest.File = CollectedCase.from_parent(parent, path=file_path)
    return collected


class UnmetExpectationError(Exception):
    """A case does not give what it states; the message explains why."""


class CollectedCase(pytest.File):
    """A case file: a test for each question on its own system, and one for each other system."""

    def collect(self) -> Iterator[pytest.Item]:
        """The tests of the file. A file that is not a case is an error that names the line and the field."""
        from workbench.errors import WorkbenchError
        from workbench_plugins.cases.running import pipeline_of_case

        try:
            case = self.loaded.case
            own = pipeline_of_case(case.system, self.path.parent)
            others = [(pipeline_of_case(one.system, self.path.parent), one.holds) for one in case.elsewhere]
        except WorkbenchError as error:
            raise self.CollectError(str(error)) from None
        for number in range(len(case.questions)):
            name = f"{own.name}-{number + 1}" if len(case.questions) > 1 else own.name
            yield CaseTest.from_parent(self, name=name, check=partial(self._question, number))
        for number, (other, holds) in enumerate(others):
            name = f"elsewhere-{number + 1}-{other.name}"
            yield CaseTest.from_parent(self, name=name, check=partial(self._elsewhere, other, holds))

    @cached_property
    def loaded(self) -> CaseFile:
        """The case and its file."""
        from workbench_plugins.cases.model import load_case

        return load_case(self.path)

    @cached_property
    def ran(self) -> CaseRun:
        """The case on its own system; with --case-update its observations are written into the file."""
        from workbench_plugins.cases.model import save_case
        from workbench_plugins.cases.running import run_case, with_observations

        run = run_case(self.loaded.case, folder=self.path.parent)
        if self.config.getoption(UPDATE) and not run.as_observed:
            save_case(with_observations(run), self.path, overwrite=True)
        return run

    def _question(self, number: int) -> None:
        """Passes if the expectation holds as observed; a known bug is expected to fail as observed."""
        from workbench.masking import masked

        run = self.ran
        answer = run.answers[number]
        known_bug = answer.asked.known_bug or run.case.known_bug
        if not answer.as_observed and not self.config.getoption(UPDATE):
            raise _unmet(answer, run, "What is observed differs from what the case states.")
        if answer.holds and known_bug:
            problem = f"The expectation holds. If the bug is mended, remove known_bug: {known_bug}"
            raise _unmet(answer, run, problem)
        if not answer.holds and known_bug:
            pytest.xfail(masked(known_bug))
        if not answer.holds:
            raise _unmet(answer, run, "The expectation does not hold.")

    def _elsewhere(self, pipeline: Pipeline, holds: bool) -> None:
        """Passes if the expectations hold on another system, or fail there, as the case states."""
        from workbench_plugins.cases.running import run_case

        run = run_case(self.loaded.case, pipeline, folder=self.path.parent)
        if run.holds == holds:
            return
        wrong = next((one for one in run.answers if one.holds != holds), run.answers[0])
        description = "hold" if holds else "fail"
        problem = f"The case states that its expectations {description} on {pipeline.name}, and they do not."
        raise _unmet(wrong, run, problem)


def _unmet(answer: Answered, run: CaseRun, problem: str) -> UnmetExpectationError:
    from workbench_plugins.cases.report import answer_text

    return UnmetExpectationError(answer_text(answer, run, problem))


class CaseTest(pytest.Item):
    """A test of a case: a failure is told in words, without a traceback."""

    def __init__(self, *, check: Callable[[], None], **more: Any) -> None:
        super().__init__(**more)
        self._check = check

    def runtest(self) -> None:
        """Checks what the test is for."""
        self._check()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The explanation of an expectation that does not hold, or the message of an expected error."""
        from workbench.errors import WorkbenchError
        from workbench.safe_text import visible

        if isinstance(excinfo.value, UnmetExpectationError | WorkbenchError):
            return visible(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the test is: its file and its name."""
        return self.path, 0, self.name
