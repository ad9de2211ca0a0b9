"""The page of `workbench explore` as a small server: a question, two systems, and what grows out of them.

It listens on this machine alone. A token in the address keeps other users out, and other sites' pages cannot
use it: a request must name this host, and bring the token in a header that only this page's script sets. No
cookie has it: the browser would send one to every other server of this machine.
"""

from __future__ import annotations

import json
import re
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, cast

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from workbench.cli.bounded_http import BACKLOG, BoundedConnection
from workbench.errors import InputError, WorkbenchError
from workbench.measure.questions import QuestionSet
from workbench.memory.index import OpenIndex
from workbench.safe_text import counted, visible
from workbench.tables import framed, html_of
from workbench.views.living import as_json, script, style
from workbench.views.plotlyjs import figures_script, figures_style, packed
from workbench_plugins.explore.explorer_state import SIDES
from workbench_plugins.explore.file_chunks import held_file
from workbench_plugins.explore.log import Asked, read_log
from workbench_plugins.explore.map import memory_map
from workbench_plugins.explore.page import Desk

HERE = Path(__file__).parent
HEADER = "x-workbench-token"
PAGE = "x-workbench-page"
"""The name that a page gives itself: several may be open at once."""
PAGES = 50
"""What so many pages have pasted and opened is kept."""
LARGEST = 20_000_000
"""Bytes of a request at most: a log of questions is sent whole."""
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What a request with other JSON than the page sends makes its reader raise."""

LABELS = {"right": "this file is the right answer", "none": "no file answers this"}
"""What a reader can say of the question."""


@dataclass
class OpenPage:
    """What a page has been given by its reader: a log of questions, and a report as it was corrected."""

    log: Sequence[Asked] = ()
    report: Any = None


class Server:
    """The pages on one memory. All requests are answered one after the other, by the thread of the index."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._pages: dict[str, OpenPage] = {}
        self.token = secrets.token_urlsafe(24)
        self.once = secrets.token_urlsafe(24)
        """What opens the page once: every user can read a browser's command line."""
        self.actions: Mapping[str, Callable[[Mapping[str, Any], OpenPage], dict[str, Any]]] = {
            "case": lambda *_: {"said": f"Saved: {self.desk.explorer.save_case()}"},
            "right": lambda *_: self._labelled(self.desk.add_right_answer()),
            "none": lambda *_: self._labelled(self.desk.add_unanswerable()),
            "losses": lambda *_: self.desk.count_losses(),
            "lab": lambda *_: self._lab(),
            "diagnose": lambda *_: self._diagnosis(),
            "file": lambda *_: self._file(),
            "map": lambda *_: self._map(),
            "log": self._log,
            "report": self._report,
        }

    @property
    def app(self) -> Starlette:
        """The server as an ASGI app."""
        routes = [
            Route("/", self.page),
            Route("/plotly.js", self.plotly),
            Route("/ask", self.ask, methods=["POST"]),
            Route("/do", self.do, methods=["POST"]),
        ]
        hosts = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
        return Starlette(routes=routes, middleware=[hosts])

    async def page(self, request: Request) -> Response:
        """The page, for an address with the token."""
        if _same(request.query_params.get("once", ""), self.once):
            self.once = secrets.token_urlsafe(24)
            return RedirectResponse(f"/?token={self.token}", 303, {"Cache-Control": "no-store"})
        if not self._is_token(request.query_params.get("token", "")):
            return HTMLResponse("<p>Open the whole address that the command printed.</p>", 403)
        nonce = secrets.token_urlsafe(12)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; connect-src 'self'; "
            "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        headers = {
            "Content-Security-Policy": policy,
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        return HTMLResponse(self._html(nonce), headers=headers)

    async def plotly(self, request: Request) -> Response:
        """plotly.js, which draws the figures of the page; it is public, and no part of the memory."""
        headers = {"Content-Encoding": "gzip", "Cache-Control": "max-age=86400"}
        return Response(packed(), media_type="text/javascript", headers=headers)

    def _html(self, nonce: str) -> str:
        body = (HERE / "explore.html").read_text(encoding="utf-8")
        texts = {
            "NONCE": nonce,
            "STYLE": style() + figures_style(),
            "SCRIPT": script() + figures_script() + (HERE / "explore.js").read_text(encoding="utf-8"),
            "MEMORY": escape(visible(self._memory)),
            "NOTES": "".join(f'<p role="note">{escape(one)}</p>' for one in self.desk.index.remarks),
            "STATE": as_json(self._state()),
        }
        # One pass over the page alone: what a memory is called is put in and never read for names again.
        return re.sub(f"@({'|'.join(texts)})@", lambda found: texts[found[1]], body)

    def _state(self) -> dict[str, Any]:
        explorer = self.desk.explorer
        data = explorer.data | {"actions": LABELS}
        return {"data": data, "settings": explorer.settings, "labelled": self.desk.labelled}

    def _labelled(self, said: str) -> dict[str, Any]:
        return {"said": said, "labelled": self.desk.labelled}

    @property
    def _memory(self) -> str:
        """The memory's name and size."""
        index = self.desk.index
        name = root.name if (root := getattr(index, "root", None)) else index.name
        return f"{name} ({counted(len(index.paths()), 'file')}, {counted(index.size, 'chunk')})"

    async def ask(self, request: Request) -> Response:
        """The searches for the settings in the request."""

        def answer(asked: Mapping[str, Any]) -> dict[str, Any]:
            self._take(asked)
            return self._state()

        return await self._answered(request, answer)

    async def do(self, request: Request) -> Response:
        """What an action gives: a sentence, HTML, or the data of another view."""

        def answer(asked: Mapping[str, Any]) -> dict[str, Any]:
            self._take(asked["settings"])
            return self.actions[asked["do"]](asked, self._page(request.headers.get(PAGE, "")[:64]))

        return await self._answered(request, answer)

    def _take(self, settings: Mapping[str, Any]) -> None:
        """The settings of a page; the chunk that it marks is its own, and may be of its last question."""
        self.desk.explorer.settings = {**settings, "chunk": ""}

    async def _answered(
        self, request: Request, answer: Callable[[Mapping[str, Any]], dict[str, Any]]
    ) -> Response:
        if (
            not self._is_token(request.headers.get(HEADER, ""))
            or request.headers.get("content-type") != "application/json"
        ):
            return JSONResponse({"problem": "Open the whole address that the command printed."}, 403)
        try:
            return JSONResponse(answer(json.loads(await _body(request))))
        except WorkbenchError as error:
            return JSONResponse({"problem": f"{error.problem} {error.remedy}"}, 422)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except UNREADABLE as error:
            return JSONResponse({"problem": f"The request cannot be read: {error!r:.200}."}, 400)

    def _page(self, name: str) -> OpenPage:
        """The open page of this name, which is the last of those that are kept now."""
        found = self._pages.pop(name, OpenPage())
        self._pages = dict([*self._pages.items(), (name, found)][-PAGES:])
        return found

    def _is_token(self, given: str) -> bool:
        return _same(given, self.token)

    def _lab(self) -> dict[str, Any]:
        lab = self.desk.lab()
        return {"view": {"data": lab.data, "settings": lab.settings}}

    def _log(self, asked: Mapping[str, Any], page: OpenPage) -> dict[str, Any]:
        """The log that is given, or the one that is there, worst first; without any, the form to give one."""
        notes: list[str] = []
        if asked.get("files"):
            page.log, notes = read_log({str(name): str(text) for name, text in asked["files"].items()})
        return {"log": self.desk.judged(page.log) | {"notes": notes} if page.log else {}}

    def _report(self, asked: Mapping[str, Any], page: OpenPage) -> dict[str, Any]:
        """A report that is pasted, or the one that is there with what the page changes in it."""
        from workbench_plugins.reproduce.report_state import ReportState

        if "text" in asked:
            page.report = ReportState(str(asked["text"]))
        reader = page.report
        if reader is None:
            return {"report": None}
        reader.settings = dict(asked.get("change", {}))
        reader.pressed(dict(asked.get("press", {})))
        return {"report": {"data": reader.data, "settings": reader.settings}}

    def _diagnosis(self) -> dict[str, Any]:
        explorer = self.desk.explorer
        if not explorer.asked_for:
            raise InputError("A diagnosis needs the file that you expect.", "Name it as the expected file.")
        from workbench_plugins.diagnose.diagnosis import diagnose
        from workbench_plugins.explore.fix_buttons import fix_button

        pipeline, question = explorer.searched[explorer.failed], explorer.traces[0].question
        labels = self.desk.questions if self.desk.labelled else None
        index = explorer.searched_in[explorer.failed]
        found = diagnose(question, pipeline, index, explorer.asked_for, questions=labels)
        side = SIDES[explorer.failed]
        fixes = [button for one in found.fixes if (button := fix_button(one, found.prices, side))]
        return {"html": framed(html_of(found.page())), "fixes": fixes}

    def _map(self) -> dict[str, Any]:
        """The map of the index in which the left system is searched."""
        explorer = self.desk.explorer
        index = cast("OpenIndex", explorer.searched_in[0])
        return {"map": memory_map(index, explorer.traces[0].question)}

    def _file(self) -> dict[str, Any]:
        explorer = self.desk.explorer
        held = held_file(explorer.searched_in[explorer.failed], explorer.asked_for)
        return {"html": framed(html_of(held.page()))}


def _same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode(errors="replace"), secret.encode())


async def _body(request: Request) -> bytes:
    """The body of a request. It is counted as it comes: a header may say another size, or none."""
    read = bytearray()
    async for part in request.stream():
        read += part
        if len(read) > LARGEST:
            raise InputError(
                f"The request has more than {LARGEST / 1e6:.0f} MB.", "Give a smaller log of questions."
            )
    return bytes(read)


def serve_page(
    index: OpenIndex,
    labelled: QuestionSet | None,
    saved: Path,
    port: int,
    ready: Callable[[str, str], None],
) -> None:
    """Answers on the loopback address until it is interrupted.

    `ready` is told two addresses first: one that stays, and one that opens the page once.
    Raises InputError for a port that is taken, and for a memory without a file.
    """
    desk = Desk(index, labelled, saved)
    server = Server(desk)
    with socket.socket() as opened, closing(desk.indexes):
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind(("127.0.0.1", port))
        except OSError as error:
            raise InputError(
                f"Port {port} cannot be used: {error}.", "Give another one: --port 0 takes any free one."
            ) from None
        opened.listen()  # before a browser is told the address
        config = uvicorn.Config(
            server.app,
            http=BoundedConnection,
            backlog=BACKLOG,
            access_log=False,
            log_level="error",
            ws="none",
        )
        root = f"http://127.0.0.1:{opened.getsockname()[1]}"
        ready(f"{root}/?token={server.token}", f"{root}/?once={server.once}")
        uvicorn.Server(config).run(sockets=[opened])
