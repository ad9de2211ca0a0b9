"""One request to a provider's API, through the provider's own client library, and what can go wrong with it.

The libraries are imported when a client is made; their own retries are off, so that the rule is ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol
from weakref import finalize

from workbench.errors import InputError
from workbench.memory.embedding.local import Role

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


class BadAnswerError(RequestError):
    """The provider sent an answer that cannot be used."""


@dataclass(frozen=True)
class Access:
    """Where a model is, the key to it, and how many numbers a vector shall have, if not its own number."""

    base_url: str
    key: str = field(repr=False)
    model: str
    output: int | None = None


class Client(Protocol):
    """Sends one request, and gives back what came: one vector a text, in order, not checked.

    Raises RequestError.
    """

    def vectors(self, texts: Sequence[str], role: Role, seconds: float) -> list[Any]: ...


class OpenAIClient:
    """OpenAI's embeddings API, which many other servers speak too."""

    def __init__(self, access: Access) -> None:
        with installed():
            import openai
        self.access = access
        self._library = openai
        # A redirect would send texts, and perhaps the key, to an address that the user has not named.
        http = openai.DefaultHttpxClient(follow_redirects=False)
        finalize(self, http.close)
        self._client = openai.OpenAI(
            api_key=access.key, base_url=access.base_url, max_retries=0, http_client=http
        )

    def fields(self, role: Role) -> Mapping[str, Any]:
        """What a request says beside its model and its texts."""
        return {"dimensions": self.access.output} if self.access.output else {}

    def vectors(self, texts: Sequence[str], role: Role, seconds: float) -> list[Any]:
        with understood(), self._translated(seconds):
            answer = self._client.embeddings.create(
                input=list(texts),
                model=self.access.model,
                extra_body=self.fields(role),
                timeout=seconds,
            )
            rows = sorted(answer.data, key=lambda row: row.index)
            if [row.index for row in rows] != list(range(len(rows))):
                raise BadAnswerError(f"the vectors are numbered {[row.index for row in answer.data]}")
            return [row.embedding for row in rows]

    @contextmanager
    def _translated(self, seconds: float) -> Iterator[None]:
        try:
            yield
        except self._library.APIStatusError as error:
            check_redirect(error.response)
            said = error.message.removeprefix(f"Error code: {error.status_code} - ")
            raise RequestError(said, error.status_code, wanted_wait(error.response.headers)) from None
        except self._library.APITimeoutError:
            raise RequestError(f"no answer within {seconds:g} s") from None
        except self._library.APIConnectionError as error:
            raise RequestError(f"the connection failed: {error.__cause__ or error}") from None
        except self._library.OpenAIError as error:
            raise RequestError(str(error)) from None


class VoyageClient(OpenAIClient):
    """Voyage's embeddings API: OpenAI's, with other fields."""

    def fields(self, role: Role) -> Mapping[str, Any]:
        """The type of text; a text that is too long is an error, and not cut without a word."""
        output = {"output_dimension": self.access.output} if self.access.output else {}
        return {"input_type": "query" if role == "query" else "document", "truncation": False, **output}


class OllamaClient(OpenAIClient):
    """Ollama, which speaks OpenAI's API below /v1 and asks for no key."""

    def __init__(self, access: Access) -> None:
        super().__init__(replace(access, base_url=f"{access.base_url}/v1", key=access.key or "ollama"))


class GeminiClient:
    """Google's Gemini embeddings API."""

    def __init__(self, access: Access) -> None:
        with installed():
            import httpx2
            from google import genai
        self.access = access
        self._types, self._errors, self._http = genai.types, genai.errors, httpx2
        http = httpx2.Client(follow_redirects=False)
        finalize(self, http.close)
        self._client = genai.Client(
            api_key=access.key,
            vertexai=False,
            http_options=genai.types.HttpOptions(
                base_url=access.base_url.removesuffix("/v1beta"),
                httpx_client=http,
            ),
        )

    def vectors(self, texts: Sequence[str], role: Role, seconds: float) -> list[Any]:
        task = "RETRIEVAL_QUERY" if role == "query" else "RETRIEVAL_DOCUMENT"
        contents: Any = list(texts)
        with understood(), self._translated(seconds):
            answer = self._client.models.embed_content(
                model=self.access.model,
                contents=contents,
                config=self._types.EmbedContentConfig(
                    task_type=task,
                    output_dimensionality=self.access.output,
                    http_options=self._types.HttpOptions(timeout=int(seconds * 1000)),
                ),
            )
            return [row.values for row in answer.embeddings or []]

    @contextmanager
    def _translated(self, seconds: float) -> Iterator[None]:
        try:
            yield
        except self._errors.APIError as error:
            check_redirect(error.response)
            wait = wanted_wait(error.response.headers)
            raise RequestError(f"{error.message or error}", error.code, wait) from None
        except self._http.TimeoutException:
            raise RequestError(f"no answer within {seconds:g} s") from None
        except self._http.HTTPError as error:
            raise RequestError(f"the connection failed: {error}") from None


@contextmanager
def installed() -> Iterator[None]:
    """Turns a library that is not there into an InputError that says how to get it."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"The providers' client libraries are not installed: {error}.",
            'Install them: pip install "hybrid-search-workbench[providers]"',
        ) from None


@contextmanager
def understood() -> Iterator[None]:
    """Turns an answer that is no JSON, or of another form than the API has, into a BadAnswerError."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise BadAnswerError(f"the answer cannot be read: {error}") from None


def check_redirect(response: Any) -> None:
    """Raises a RequestError that names the address to which an answer redirects, if it does."""
    if 300 <= response.status_code < 400:
        address = response.headers.get("location", "an unnamed address")
        raise RequestError(f"it redirects to {address}", response.status_code)


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
