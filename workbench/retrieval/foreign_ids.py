"""What another engine answers that fits no index: ids that name no file, and no answer at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from traceback import FrameSummary, extract_tb
from typing import Any

from workbench.errors import InputError, WorkbenchError


def path_form(ids: Iterable[str], paths: Sequence[str]) -> tuple[str, Callable[[str], str]] | None:
    """How a path of the index is made of an id, in words and as a function; None if no id is near to a path.

    >>> words, form = path_form(["notes/tea.md#0"], ["notes/tea.md"])
    >>> words, form("notes/oven.md#0")
    ("the path without '#0'", 'notes/oven.md')
    >>> path_form(["tea"], ["notes/tea.md"])[1]("oven")
    'notes/oven.md'
    """
    for id_ in ids:
        for path in paths:
            if path in id_:
                before, _, after = id_.partition(path)
                if not before or before.endswith("/"):
                    extra = " and ".join(repr(one) for one in (before, after) if one)
                    return f"the path without {extra}", _without(before, after)
            elif id_ and id_ in path:
                before, _, after = path.partition(id_)
                if (not before or before.endswith("/")) and (not after or after.startswith(".")):
                    extra = " and ".join(repr(one) for one in (before, after) if one)
                    return f"the path, which has {extra} besides", _with(before, after)
    return None


def _without(before: str, after: str) -> Callable[[str], str]:
    """Ids often end with the number of a chunk, so that the end of another id has another number."""
    mark = after.rstrip("0123456789-")

    def path_of(id_: str) -> str:
        rest = id_.removeprefix(before)
        return (
            rest.rpartition(mark)[0] if mark and mark != after and mark in rest else rest.removesuffix(after)
        )

    return path_of


def _with(before: str, after: str) -> Callable[[str], str]:
    return lambda id_: f"{before}{id_}{after}"


def none_is_known(engine: str, question: str, ids: Sequence[str], paths: Sequence[str]) -> str:
    """The sentence that no id of an answer names a file of the index, with the nearest form of one."""
    found = path_form(ids, paths)
    near = f"the index has paths such as {paths[0]}"
    if found is not None:
        words, form = found
        near = f"the nearest form is {words}: {form(ids[0])}"
    if len(ids) == 1:
        return (
            f"The only id that {engine} returned for “{question}” is {ids[0]}, no file of this memory; {near}"
        )
    none = f"None of the {len(ids)} ids that {engine} returned for “{question}”"
    return f"{none} names a file of this memory. The first is {ids[0]}; {near}"


def answered(engine: str, question: str, ask: Callable[..., Iterable[Any]], *more: int) -> list[Any]:
    """What a function of an engine returns for a question, as a list; `more` is what else it is given.

    Raises InputError, with the question and the function, if it raises; TypeError for what is no list.
    """
    try:
        return list(ask(question, *more))
    except WorkbenchError:
        raise
    except Exception as error:
        frames = extract_tb(error.__traceback__)[1:]
        if isinstance(error, TypeError | ValueError) and not frames:
            raise
        raise not_answered(engine, question, error, frames) from error


def not_answered(engine: str, question: str, error: Exception, frames: Sequence[FrameSummary]) -> InputError:
    """The error for an engine, such as one of recorded answers, that does not know a question.

    `frames` are those of the traceback from the engine's own function on.
    """
    where = f" in {frames[0].name} ({Path(frames[0].filename).name}:{frames[0].lineno})" if frames else ""
    unknown = isinstance(error, LookupError)
    return InputError(
        f"{engine} has no answer to “{question}”: its search raises {type(error).__name__}{where}: {error}.",
        "Let it return an empty list for a question that it does not know, or give labelled questions."
        if unknown
        else "Mend the function, or start what it asks. An empty list would mean that it finds nothing.",
    )
