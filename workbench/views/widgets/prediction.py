"""A prediction: you commit to an expected answer before the real one is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any, ClassVar

import traitlets
from rich.text import Text

from workbench.errors import InputError, brief
from workbench.tables import NO_FORMULAS, Table
from workbench.views.living.notebook import Widget
from workbench.views.living.state import RefusedError, setting

FOLDED = "This output helps with the answer. Guess first, then open it, or run the cell again."


class Prediction(Widget):
    """A question with choices: you commit to one, and `reveal` shows the correct answer beside it.

    "Run all" reveals nothing: while there is no guess, the answer waits for one, and `evidence` folds what is
    printed. `waits` is False for pages without a kernel, on which nobody can choose.

    Set `guess` to answer without a browser. Raises InputError for a guess that is not one of the choices, and
    for a new guess after you have committed.
    """

    name, view, main = "prediction", "prediction", "guess"
    waits: ClassVar[bool] = True

    guess = setting(traitlets.Unicode(allow_none=True, default_value=None))
    truth = setting(traitlets.Unicode(allow_none=True, default_value=None))
    committed = setting(traitlets.Bool())

    def __init__(self, question: str, choices: Sequence[str]) -> None:
        super().__init__()
        if not isinstance(question, str) or not question.strip():
            raise InputError(f"This is no question: {brief(question)}.", "Give a text.")
        offered = choices if isinstance(choices, list | tuple) else ()
        texts = {one for one in offered if isinstance(one, str)}
        if not texts or len(texts) < len(offered):
            raise InputError(
                f"These are no choices: {brief(choices)}.",
                "Give texts that differ, such as ['keyword', 'vector'].",
            )
        self._question = question
        self.options = {"guess": list(offered), "truth": list(offered)}
        self.begin(link=False)

    def take(self, values: Mapping[str, Any]) -> None:
        kept = {"guess": self.guess, "committed": True}
        if self.committed and any(values.get(name, now) != now for name, now in kept.items()):
            raise RefusedError(
                f"You have already committed to {self.guess}.", "Run the cell again for a new guess."
            )
        super().take(values)

    def check(self, name: str) -> None:
        if name == "committed" and self.committed and self.guess is None:
            raise RefusedError("There is no guess yet.", "Choose an answer first.")
        if getattr(self, name) is not None:
            super().check(name)

    @property
    def facts(self) -> Mapping[str, Any]:
        return {"question": self._question, "choices": self.options["guess"]}

    @property
    def sentence(self) -> str:
        return self._question

    @property
    def table(self) -> Table:
        return Table("The choices", ("choice",), [(one,) for one in self.options["guess"]])

    @property
    def code(self) -> str:
        return ""

    def commit(self) -> None:
        """Closes the question; the guess can no longer change. Shows the answer if it was waiting."""
        self.committed = True

    def reveal(self, truth: str) -> str:
        """Shows the correct answer and the guess in the widget, and returns the sentence.

        Without a guess it returns where the answer will appear: the widget shows it after the choice.
        """
        self.truth = truth
        if self.guess is not None:
            self.commit()
            return self._verdict(truth)
        if self.waits:
            return "The answer appears above, below your guess, when you have made one."
        return f"It is “{truth}”."

    @contextmanager
    def evidence(self) -> Iterator[None]:
        """Folds what is shown inside it while there is no guess, because it gives the answer away."""
        if self.guess is not None or not self.waits:
            yield
            return
        from IPython.utils.capture import capture_output

        try:
            with capture_output(stderr=False) as shown:
                yield
        finally:
            text = Text.from_ansi(shown.stdout).plain
            _show_folded(text, [_page(one.data) for one in shown.outputs])

    def _verdict(self, truth: str) -> str:
        if self.guess == truth:
            return f"It is “{truth}”, as you expected."
        return f"It is “{truth}”; you expected “{self.guess}”."


class _Folded:
    """What was printed, then what was shown, behind a line to click on; elsewhere only the line."""

    def __init__(self, text: str, pages: Sequence[str]) -> None:
        self.text, self.pages = text, pages

    def __repr__(self) -> str:
        return FOLDED

    def _repr_html_(self) -> str:
        printed = f"<pre>{escape(self.text)}</pre>" if self.text else ""
        inside = f"<summary>{FOLDED}</summary>{printed}{''.join(self.pages)}"
        return f'<details class="{NO_FORMULAS}">{inside}</details>'


def _page(data: Mapping[str, str]) -> str:
    """An output as HTML; a figure, which no page draws inside a fold, in its words."""
    return data.get("text/html") or f"<p>{escape(data.get('text/plain', ''))}</p>"


def _show_folded(text: str, pages: Sequence[str]) -> None:
    from IPython.display import display

    display(_Folded(text, pages))  # type: ignore[no-untyped-call]
