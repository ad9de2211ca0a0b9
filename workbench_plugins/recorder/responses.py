"""Records engines that are servers from the JSON of their responses, as their documentation describes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from workbench.errors import InputError, unknown_name
from workbench.memory.data_files import load_data
from workbench_plugins.recorder.recording import Recording, record
from workbench_plugins.runs.run_files import number, plain_id


class Hit(NamedTuple):
    """One hit of a response; `is_distance` says that its smaller numbers are better."""

    id: str
    score: float | None
    is_distance: bool


@cache
def forms() -> Mapping[str, Mapping[str, str]]:
    """The known forms of responses by the names of their engines."""
    read: Mapping[str, Mapping[str, str]] = load_data(__file__, "responses.yaml")
    return read


def hits_of(engine: str, response: Any) -> list[Hit]:
    """The hits of a response, in its order.

    Raises InputError for an engine whose form is not known, and for a response without hits of this form.
    """
    if engine not in forms():
        raise unknown_name("engine", engine, forms(), f"These are known: {', '.join(forms())}.")
    form = forms()[engine]
    try:
        (found,) = _at(response, form["hits"])
        if not isinstance(found, list):
            raise ValueError(f"{type(found).__name__} in place of a list")
        scores = next(_at(response, form.get("scores", "")), None) if "scores" in form else None
        return [_hit(one, form, scores[number] if scores else None) for number, one in enumerate(found)]
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise InputError(
            f"This is no response of {engine}: {error!r:.100}.",
            f"Hits stand at {form['hits'] or 'the top'}, as in: {form['documentation']}.",
        ) from None


def _hit(value: Any, form: Mapping[str, str], score: Any) -> Hit:
    (id_,) = _at(value, form["id"])
    stated = next(_at(value, form["score"]), None) if "score" in form else score
    far = next(_at(value, form["distance"]), None) if "distance" in form and stated is None else None
    given = far if stated is None else stated
    return Hit(plain_id(id_), None if given is None else number(given), far is not None)


def _at(value: Any, path: str) -> Iterator[Any]:
    """What stands at a path; nothing where it does not lead anywhere."""
    name, _, rest = path.partition(".")
    if not path:
        yield value
    elif isinstance(value, Mapping):
        for one in value.values() if name == "*" else [value[name]] if name in value else []:
            yield from _at(one, rest)


def record_responses(
    engine: str, question: str, legs: Mapping[str, Any], fused: Any = None, **known: Any
) -> Recording:
    """A recording of the responses to one question: one for each leg, and one of the hybrid search.

    `known` is what `record` also takes: the fusion, depths, limit and floor.
    """
    read = {name: hits_of(engine, response) for name, response in legs.items()}
    answer = None if fused is None else hits_of(engine, fused)
    return record(
        question,
        {name: [(one.id, one.score) for one in some] for name, some in read.items()},
        None if answer is None else [(one.id, one.score) for one in answer],
        engine=engine,
        distances=[name for name, some in read.items() if any(one.is_distance for one in some)],
        **known,
    )
