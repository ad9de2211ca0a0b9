"""HTTP connections that are bounded in number and in time, for the servers on this machine."""

from __future__ import annotations

from asyncio import BaseTransport, TimerHandle
from typing import ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 128
"""How many connections are open at once. Processes may usually have 1,024 descriptors, on macOS 256."""

BACKLOG = 64
"""How many connections the system keeps waiting. asyncio accepts as many before it looks at one of them."""

REQUEST_SECONDS = 10.0
"""How long a client may take to send a whole request, or to take an answer from a full buffer."""


class BoundedConnection(H11Protocol):
    """uvicorn's HTTP/1.1 connection with a deadline for each request and a limit on open connections.

    When there are too many connections, the one that has waited longest for its request is closed:
    connections that have never sent a whole request first. A request that is being answered is never
    interrupted; the newest connection is closed when all others are being answered.
    """

    most_connections: ClassVar[int] = MOST_CONNECTIONS
    request_seconds: ClassVar[float] = REQUEST_SECONDS

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self._deadline: TimerHandle | None = None
        self._requests = 0
        self._since = self.loop.time()
        self._wait_for_client()
        if len(self.connections) > self.most_connections:
            self._make_room()

    def _make_room(self) -> None:
        others = [one for one in self.connections if isinstance(one, BoundedConnection) and one is not self]
        waiting = [one for one in others if one._deadline is not None]
        chosen = min(waiting, key=lambda one: (one._requests > 0, one._since), default=self)
        chosen._drop()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._check_request()

    def on_response_complete(self) -> None:
        self._stop_waiting()
        self._since = self.loop.time()
        self._wait_for_client()
        super().on_response_complete()
        self._check_request()  # the next request may have arrived with this one

    def _check_request(self) -> None:
        """Stops the clock when a whole request is here and its answer is not complete."""
        arrived = self.conn.their_state in (h11.DONE, h11.MUST_CLOSE)
        if arrived and self.cycle is not None and not self.cycle.response_complete:
            self._requests += 1
            self._stop_waiting()

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(msg)
        if self.cycle is not None:
            self.cycle.disconnected = True  # its answer would be a second one

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_client()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._check_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_client(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.request_seconds, self._drop)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _drop(self) -> None:
        self._stop_waiting()
        self.connections.discard(self)
        self.transport.abort()
