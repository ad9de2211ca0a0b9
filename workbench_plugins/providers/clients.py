"""Requests to a provider's API over HTTP, the forms of the embeddings APIs, and what can go wrong with them.

A request has one deadline, however slowly its answer arrives. Whether it is sent again is the caller's rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit
from weakref import finalize

from workbench.errors import InputError, install_extra
from workbench.memory.embedding.engines import Role

WORDS = re.compile(r"rate[_ ]limit|too many requests|resource has been exhausted|cloudflare", re.IGNORECASE)
CODES = re.compile(r"429|5\d\d")
LONGEST_WAIT = 60.0
"""Seconds. A provider that asks for more has its limit by the day, and is not waited for."""


def retryable(message: str, status: int | None = None) -> bool:
    """Whether asking again may help: after a rate limit, and after a provider's own failure (429, 5xx).

    The status decides where there is one; without it the message does, by the words and numbers in it.
    Source: openclaw 2026.2.13, src/memory/manager.ts.

    >>> retryable("429 Too Many Requests"), retryable("at most 512 texts", status=400)
    (True, False)
    """
    codes = message if status is None else str(status)
    return bool(WORDS.search(message) or CODES.search(codes))


class RequestError(Exception):
    """One request failed: the provider's message, its status, and how many seconds it asks to wait."""

    def __init__(self, message: str, status: int | None = None, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.retry_after = retry_after

    @property
    def retryable(self) -> bool:
        return self.retry_after <= LONGEST_WAIT and retryable(self.message, self.status)

    def one_line(self, key: str) -> str:
        """The message in one line of at most 300 characters, without the key."""
        text = " ".join(self.message.split()).rstrip(".")
        text = text.replace(key, "…") if key else text
        return text if len(text) <= 300 else f"{text[:300]}…"


class BadAnswerError(RequestError):
    """The provider sent an answer that cannot be used."""


@dataclass(frozen=True)
class Access:
    """Where a model is, the key to it, and how many numbers a vector shall have, if not its own number."""

    base_url: str
    key: str = field(repr=False)
    model: str
    output: int | None = None


def is_plain(address: str) -> bool:
    """Whether an address is http, has a host, and holds no password, key or anything else that is secret."""
    try:
        found = urlsplit(address)
        usable = found.scheme in ("http", "https") and found.hostname and found.port != 0
    except ValueError:
        return False
    return bool(usable) and not (found.username or found.password or found.query or found.fragment)


@dataclass(frozen=True)
class API:
    """The form of an embeddings API: a request's address and body, the answer's vectors, the key's header.

    The vectors come in the order of the texts, and are not checked.
    """

    url: Callable[[Access], str]
    body: Callable[[Access, Sequence[str], Role], dict[str, Any]]
    vectors: Callable[[Any], list[Any]]
    header: str = "Authorization"


def _form(access: Access, texts: Sequence[str], output: str, **more: Any) -> dict[str, Any]:
    """OpenAI's form of a request; `output` names the dimensions."""
    dimensions = {output: access.output} if access.output else {}
    return {"model": access.model, "input": list(texts), **dimensions, **more}


def _gemini(access: Access, texts: Sequence[str], role: Role) -> dict[str, Any]:
    output = {"outputDimensionality": access.output} if access.output else {}
    common = {"model": _gemini_model(access), "taskType": GEMINI_TASKS[role], **output}
    return {"requests": [{**common, "content": {"parts": [{"text": text}]}} for text in texts]}


VOYAGE_TYPES: Mapping[Role, str] = {"query": "query", "passage": "document"}
GEMINI_TASKS: Mapping[Role, str] = {"query": "RETRIEVAL_QUERY", "passage": "RETRIEVAL_DOCUMENT"}


def _gemini_model(access: Access) -> str:
    return access.model if "/" in access.model else f"models/{access.model}"


def _numbered(answer: Any) -> list[Any]:
    rows = sorted(answer["data"], key=lambda row: row["index"])
    if [row["index"] for row in rows] != list(range(len(rows))):
        raise BadAnswerError(f"the vectors are numbered {[row['index'] for row in answer['data']]}")
    return [row["embedding"] for row in rows]


OPENAI = API(
    lambda access: f"{access.base_url}/embeddings",
    lambda access, texts, _: _form(access, texts, "dimensions"),
    _numbered,
)
OLLAMA = replace(OPENAI, url=lambda access: f"{access.base_url}/v1/embeddings")
VOYAGE = replace(
    OPENAI,
    # A text that is too long is an error, and not cut without a word.
    body=lambda access, texts, role: _form(
        access, texts, "output_dimension", input_type=VOYAGE_TYPES[role], truncation=False
    ),
)
GEMINI = API(
    lambda access: (
        f"{access.base_url.removesuffix('/v1beta')}/v1beta/{quote(_gemini_model(access))}:batchEmbedContents"
    ),
    _gemini,
    lambda answer: [row["values"] for row in answer.get("embeddings", [])],
    header="x-goog-api-key",
)


class Connection:
    """A kept connection with a key. It sends JSON, and understands what comes back."""

    def __init__(self, key: str, header: str = "Authorization") -> None:
        with installed():
            import httpx2
        self._library = httpx2
        said = {header: f"Bearer {key}" if header == "Authorization" else key} if key else {}
        # A redirect would send texts, and perhaps the key, to an address that the user has not named.
        self._client = httpx2.Client(headers=said, follow_redirects=False)
        finalize(self, self._client.close)

    def post(self, url: str, body: Mapping[str, Any], seconds: float) -> Any:
        """The answer to one request, as JSON. Raises RequestError, also after so many seconds."""
        return within(seconds, lambda: self._sent(url, body, seconds))

    def _sent(self, url: str, body: Mapping[str, Any], seconds: float) -> Any:
        try:
            answer = self._client.post(url, json=dict(body), timeout=seconds)
        except self._library.TimeoutException:
            raise RequestError(f"no answer within {seconds:g} s") from None
        except self._library.HTTPError as error:
            raise RequestError(f"the connection failed: {error}") from None
        status = answer.status_code
        if 300 <= status < 400:
            address = answer.headers.get("location", "an unnamed address")
            raise RequestError(f"it redirects to {address}", status)
        if status != 200:
            raise RequestError(_message(answer), status, wanted_wait(answer.headers))
        with understood():
            return answer.json()


def _message(answer: Any) -> str:
    """What an error says: the message in its JSON, or else its text."""
    try:
        return str(answer.json()["error"]["message"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return answer.text or "no message"


@contextmanager
def installed() -> Iterator[None]:
    """Turns a library that is not there into an InputError that says how to get it."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"What the providers need is not installed: {error}.",
            install_extra("providers"),
        ) from None


@contextmanager
def understood() -> Iterator[None]:
    """Turns an answer that is no JSON, or of another form than the API has, into a BadAnswerError."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise BadAnswerError(f"the answer cannot be read: {error}") from None


def wanted_wait(headers: Mapping[str, str]) -> float:
    """The seconds that `Retry-After` asks for, given as a number or as a date; 0 when it asks for none."""
    text = headers.get("retry-after", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


Result = TypeVar("Result")


def within(seconds: float, call: Callable[[], Result]) -> Result:
    """The result of `call`. Raises RequestError when there is none after `seconds`.

    The client library limits each read and not the whole answer, so a server that sends a byte now and then
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
