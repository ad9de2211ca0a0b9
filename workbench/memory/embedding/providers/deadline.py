"""A deadline for a whole request, however slowly its answer arrives."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from threading import Thread
from typing import TypeVar

from workbench.memory.embedding.providers.clients import RequestError

Result = TypeVar("Result")


def within(seconds: float, call: Callable[[], Result]) -> Result:
    """The result of `call`. Raises RequestError when there is none after `seconds`.

    The client libraries limit each read and not the whole answer, so a server that sends a byte now and then
    could hold its caller for ever. A call that is late keeps its thread, which does not keep the process.
    """
    answer: Future[Result] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=run, daemon=True).start()
    wait([answer], timeout=seconds)
    if not answer.done():
        raise RequestError(f"no answer within {seconds:g} s")
    return answer.result()
