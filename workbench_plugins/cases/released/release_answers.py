"""How a released system is asked, whichever one it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from workbench.progress import progress_bar


class Ask(Protocol):
    """A running release: a question with the arguments of its search tool, and what the tool returns."""

    def __call__(self, question: str, **arguments: Any) -> Any: ...


def answers(ask: Ask, questions: Iterable[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a release returns for each question, asked with the same arguments."""
    every = progress_bar(list(questions), desc="asking", unit="question")
    return {one: ask(one, **arguments) for one in every}
