"""The embedder of a provider's model: parallel requests, retried by OpenClaw's rule, with checked answers.

The limits of one text and of one request are OpenClaw's: a model's tokens are compared with bytes of UTF-8,
of which a token has at least one. An index stores its model and the model's address, and never switches to
another one silently. Keys come from the environment; they are not printed and not stored.

Source: openclaw 2026.2.13, src/memory/manager.ts, embedding-chunk-limits.ts and embeddings.ts.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError, ProviderError
from workbench.memory.data_files import load_data
from workbench.memory.embedding.engines import Role
from workbench.memory.embedding.local import Embedded, PartlyEmbeddedError, mean_vectors, unit
from workbench.memory.embedding.named import EmbedderKind
from workbench.memory.sources import USUAL_LONGEST, parts
from workbench_plugins.providers.clients import (
    API,
    GEMINI,
    OLLAMA,
    OPENAI,
    VOYAGE,
    Access,
    BadAnswerError,
    Connection,
    RequestError,
    installed,
    is_plain,
    understood,
)

REQUEST_BYTES = 8000
"""How many bytes of text go into one request, unless one text alone has more."""

TABLE: Mapping[str, Any] = load_data(__file__)
LONGEST: Mapping[str, int] = TABLE["longest"]


def longest(provider: str, model: str) -> int:
    """How many bytes of one text the model takes: its own number, its provider's, or the usual one."""
    return LONGEST.get(f"{provider}/{model}", LONGEST.get(provider, USUAL_LONGEST))


def batches(sizes: Sequence[int], most: int = REQUEST_BYTES, texts: int | None = None) -> list[range]:
    """Which texts go into which request: runs of at most `most` bytes, and of at most `texts` texts.

    `sizes` are bytes. A text that alone has more goes alone.

    >>> batches([1600, 1600, 9000, 100], most=8000)
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    found: list[range] = []
    start = total = 0
    for number, size in enumerate(sizes):
        if number > start and (total + size > most or number - start == texts):
            found.append(range(start, number))
            start, total = number, 0
        total += size
    return [*found, range(start, len(sizes))] if sizes else []


ATTEMPTS = 4
FIRST_WAIT, LONGEST_BACKOFF, JITTER = 0.5, 8.0, 0.2
"""Seconds, seconds, and the share by which a wait is lengthened at most."""


@dataclass(frozen=True)
class Provider:
    """A service that hosts models: its API, address, key and the most texts in one request."""

    name: str
    model: str
    api: API
    base_url: str
    url_variable: str
    key_variables: tuple[str, ...]
    texts: int
    needs_key: bool = True
    completed: Callable[[str], str] = str

    @property
    def key(self) -> str:
        """The key from the environment, empty when there is none."""
        return next(filter(None, (os.environ.get(name, "").strip() for name in self.key_variables)), "")

    @property
    def url(self) -> str:
        """The address: the environment variable's, completed, or else the default one.

        Raises InputError for anything but a plain http address; a password or key in it would be stored.
        """
        given = self.completed(os.environ.get(self.url_variable, "").strip() or self.base_url).rstrip("/")
        if not is_plain(given):
            raise InputError(
                f"{self.url_variable} does not hold an address that can be used.",
                "Give http:// or https://, a host and a path, without a password or key.",
            )
        return given


def ollama_host(host: str) -> str:
    """The address that Ollama's variable means: scheme and port are optional, and 0.0.0.0 is this machine.

    >>> ollama_host("0.0.0.0"), ollama_host("http://gpu:80")
    ('http://127.0.0.1:11434', 'http://gpu:80')
    """
    whole = host.rstrip("/") if "://" in host else f"http://{host.rstrip('/')}"
    whole = whole if re.search(r":\d+$", whole) else f"{whole}:11434"
    return whole.replace("//0.0.0.0:", "//127.0.0.1:")


@dataclass
class RemoteEmbedder:
    """A model behind an API. It reads every text whole: a long one in parts, whose vectors are averaged.

    Texts go in requests of at most 8,000 bytes, `concurrency` at a time. A request for passages is tried
    up to four times after a rate limit or the provider's failure, a request for a question once. Each try
    ends after `passage_seconds` or `query_seconds`. Every vector is checked. Raises a ProviderError that
    names provider, model, status and remedy: a PartlyEmbeddedError if some of the texts were embedded.
    """

    remote: ClassVar[bool] = True
    provider: Provider
    access: Access
    concurrency: int = 4
    query_seconds: float = 60.0
    passage_seconds: float = 120.0
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    @property
    def name(self) -> str:
        output = f"@{self.access.output}" if self.access.output else ""
        return f"{self.provider.name}/{self.access.model}{output}"

    @property
    def url_variable(self) -> str:
        """The environment variable that names the provider's address."""
        return self.provider.url_variable

    @property
    def longest(self) -> int:
        """How many bytes of one text go to the model at once."""
        return longest(self.provider.name, self.access.model)

    @property
    def revision(self) -> str:
        """The address of the model, and the size of the parts in which it reads a long text."""
        return f"{self.access.base_url} parts of {self.longest} bytes"

    @cached_property
    def dimensions(self) -> int:
        """The length of a vector: as requested, or else as in the model's first answer."""
        return self.access.output or self._asked(["dimensions"], "passage").shape[1]

    @cached_property
    def _connection(self) -> Connection:
        if self.provider.needs_key and not self.access.key:
            raise InputError(
                f"There is no key for {self.name}: {self.provider.key_variables[0]} is not set.",
                f"Set it: export {self.provider.key_variables[0]}=… Or use a local model.",
            )
        return Connection(self.access.key, self.provider.api.header)

    def embed(self, texts: Sequence[str], role: Role) -> Embedded:
        """One unit vector a text."""
        if not texts:
            return Embedded(np.empty((0, self.dimensions), np.float32), np.empty(0))
        pieces = [parts(text, self.longest) for text in texts]
        flat = [piece for several in pieces for piece in several]
        vectors, error = self._vectors(flat, role)
        if error is None:
            return Embedded(mean_vectors(vectors, pieces), np.ones(len(texts)))
        rows = np.split(vectors, np.cumsum([len(several) for several in pieces])[:-1])
        whole = [number for number, of_text in enumerate(rows) if not np.isnan(of_text).any()]
        if not whole:
            raise error
        found = mean_vectors(
            np.vstack([rows[number] for number in whole]), [pieces[number] for number in whole]
        )
        raise PartlyEmbeddedError(error, whole, Embedded(found, np.ones(len(whole)))) from None

    def _vectors(self, texts: Sequence[str], role: Role) -> tuple[NDArray[np.float32], ProviderError | None]:
        """The texts' vectors, NaN where a request failed or was not sent any more, and the first failure."""
        requests = batches([len(text.encode()) for text in texts], texts=self.provider.texts)
        ask = partial(self._asked, role=role, dimensions=self.dimensions)
        with ThreadPoolExecutor(self.concurrency) as pool:
            answers = [pool.submit(ask, [texts[number] for number in request]) for request in requests]
            wait_for(answers, return_when=FIRST_EXCEPTION)
            for answer in answers:
                answer.cancel()
        vectors = np.full((len(texts), self.dimensions), np.nan, np.float32)
        error: ProviderError | None = None
        for request, answer in zip(requests, answers, strict=True):
            try:
                vectors[request.start : request.stop] = answer.result()
            except CancelledError:
                continue
            except ProviderError as failed:
                error = error or failed
        return vectors, error

    def _asked(self, texts: Sequence[str], role: Role, dimensions: int | None = None) -> NDArray[np.float32]:
        """The unit vectors that one request brings, checked to have `dimensions`."""
        seconds = self.query_seconds if role == "query" else self.passage_seconds
        request = partial(self._answer, texts, role, seconds)
        try:
            answer = request() if role == "query" else self._patiently(request)
            return unit_vectors(answer, len(texts), dimensions)
        except RequestError as error:
            raise self._explained(error) from None

    def _answer(self, texts: Sequence[str], role: Role, seconds: float) -> list[Any]:
        api = self.provider.api
        answer = self._connection.post(api.url(self.access), api.body(self.access, texts, role), seconds)
        with understood():
            return api.vectors(answer)

    def _patiently(self, request: Callable[[], list[Any]]) -> list[Any]:
        with installed():
            from tenacity import Retrying, retry_if_exception, stop_after_attempt
        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=lambda state: wait(
                state.attempt_number, state.outcome.exception() if state.outcome else None
            ),
            retry=retry_if_exception(lambda error: isinstance(error, RequestError) and error.retryable),
            sleep=self.sleep,
            reraise=True,
        )
        return retrying(request)

    def _explained(self, error: RequestError) -> ProviderError:
        message = error.one_line(self.access.key)
        status = f" with status {error.status}" if error.status else ""
        return ProviderError(f"{self.name} failed{status}: {message}.", self._remedy(error))

    def _remedy(self, error: RequestError) -> str:
        """What the user can do. Vectors that came before are in the index or its cache."""
        where = f"{self.provider.url_variable} (now {self.access.base_url})"
        if isinstance(error, BadAnswerError):
            return f"Check that the server serves an embedding model: {where}."
        if error.retry_after:
            return f"It asks to wait {error.retry_after:.0f} s; then run it again."
        match error.status:
            case status if status is not None and 300 <= status < 400:
                variable = self.provider.url_variable
                return f"Redirects are not followed. If you trust that address, name it: export {variable}=…"
            case 401 | 403:
                return f"Check {' or '.join(self.provider.key_variables)}."
            case 404:
                return f"Check the model's name, and {where}."
            case 429:
                return "Wait, or raise your limit with the provider; then run it again."
            case None:
                return f"Check the network, and {where}; then run it again."
            case status if status >= 500:
                return "The provider has a problem; run it again later."
            case _:
                return "Check the model's name, and whether it accepts such a request."


def wait(attempt: int, error: BaseException | None) -> float:
    """The seconds to wait after a failed attempt, counted from 1: 0.5, 1, 2, and up to a fifth more.

    At least as long as the provider asks for.
    """
    backoff = min(LONGEST_BACKOFF, FIRST_WAIT * 2.0 ** (attempt - 1) * random.uniform(1, 1 + JITTER))
    return max(backoff, error.retry_after if isinstance(error, RequestError) else 0.0)


def unit_vectors(answer: Sequence[Any], count: int, dimensions: int | None) -> NDArray[np.float32]:
    """An API's answer as unit vectors: float32, one row per text.

    Raises BadAnswerError unless it has `count` vectors of `dimensions` finite numbers each (of any one length
    when that is None), none of them a zero vector.
    """
    if len(answer) != count:
        raise BadAnswerError(f"{len(answer)} vectors came for {count} texts")
    try:
        vectors = np.array(answer, float)
    except (ValueError, TypeError):
        raise BadAnswerError("the vectors differ in length, or hold a value that is not a number") from None
    if vectors.ndim != 2 or vectors.shape[1] == 0:
        raise BadAnswerError("the vectors are empty, or are not lists of numbers")
    if dimensions is not None and vectors.shape[1] != dimensions:
        raise BadAnswerError(f"the vectors have {vectors.shape[1]} dimensions, not {dimensions}")
    if not np.isfinite(vectors).all():
        raise BadAnswerError("a vector holds NaN or infinity")
    norms = np.linalg.norm(vectors, axis=1)
    if not (np.isfinite(norms) & (norms > 0)).all():
        raise BadAnswerError("a vector has no length, or an infinite one")
    return unit(vectors)


AUTO = "auto"

APIS = {"openai": OPENAI, "gemini": GEMINI, "voyage": VOYAGE, "ollama": OLLAMA}
PROVIDERS: Mapping[str, Provider] = {
    name: Provider(
        name,
        api=APIS[name],
        completed=ollama_host if name == "ollama" else str,
        **told | {"key_variables": tuple(told["key_variables"])},
    )
    for name, told in TABLE["services"].items()
}

AUTOMATIC = ("openai", "gemini", "voyage")
"""The order in which `auto` looks for a key."""


def provider_embedder(name: str) -> RemoteEmbedder:
    """The embedder `provider/model`, a provider's usual model, or `auto`.

    `@256` after a model requests that many dimensions. `auto`, also before a model, is the first of OpenAI,
    Gemini and Voyage whose key is in the environment. Raises InputError for `auto` when there is no key; the
    key of a named provider is checked when it is first used.
    """
    provider, _, model = name.partition("/")
    chosen = _first_with_key() if provider == AUTO else PROVIDERS[provider]
    return remote_embedder(chosen, model)


def remote_embedder(provider: Provider, model: str = "") -> RemoteEmbedder:
    """A provider's model; `@256` after its name requests that many dimensions.

    Raises InputError for dimensions that are not a number.
    """
    model, at, output = (model or provider.model).partition("@")
    if at and not (output.isascii() and output.isdigit() and int(output) > 0):
        raise InputError(
            f"The dimensions in {provider.name}/{model}@{output} are not a number above 0.",
            f"For example: {provider.name}/{model}@256",
        )
    access = Access(provider.url, provider.key, model, int(output) if at else None)
    return RemoteEmbedder(provider, access)


def _first_with_key() -> Provider:
    for name in AUTOMATIC:
        if PROVIDERS[name].key:
            return PROVIDERS[name]
    variables = [variable for name in AUTOMATIC for variable in PROVIDERS[name].key_variables]
    raise InputError(
        f"`auto` finds no provider: none of {', '.join(variables)} is set.",
        "Set one, or name a model: --model all-MiniLM-L6-v2 needs no key.",
    )


def remembered(name: str, revision: str, dimensions: int) -> RemoteEmbedder:
    """The embedder that made an index.

    Raises InputError when the provider now has another address: the questions would go to another place than
    the texts did, and perhaps to another model of the same name.
    """
    provider = PROVIDERS[name.partition("/")[0]]
    then = revision.partition(" ")[0]
    if provider.url != then:
        raise InputError(
            f"The index was made with {name} at {then}; {provider.url_variable} now means {provider.url}.",
            f"If you trust the old address: export {provider.url_variable}={then}",
        )
    embedder = remote_embedder(provider, name.partition("/")[2])
    embedder.dimensions = dimensions
    return embedder


EMBEDDERS = tuple(EmbedderKind(name, provider_embedder, remembered) for name in (*PROVIDERS, AUTO))
