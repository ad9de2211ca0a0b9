"""The address of an index in Milvus, and its name without secrets."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args
from urllib.parse import parse_qsl, unquote, urlsplit

from workbench.errors import InputError

SCHEMES = ("milvus", "milvus+tls")
Search = Literal["scan", "engine"]
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
FORM = "milvus://HOST:19530/NAME, or milvus:///FOLDER/FILE.db for a file of Milvus Lite"


@dataclass(frozen=True, repr=False)
class MilvusAddress:
    """A server or a file of Milvus Lite, and the name with which the collections of the index begin.

    `database` is the server's database; empty for its default one. `token` is an API key or USER:PASSWORD.
    `vectors` says who finds the nearest vectors: `scan` (exact, in NumPy) or `engine`.
    """

    uri: str
    token: str
    name: str
    prefix: str = "workbench"
    vectors: Search = "scan"
    database: str = ""

    def __repr__(self) -> str:
        return f"MilvusAddress({self.name})"


def parse(address: str) -> MilvusAddress:
    """Reads `milvus://HOST:PORT/NAME?db=NAME&vectors=engine` or `milvus:///FOLDER/FILE.db?name=NAME`.

    The token comes from user and password in the address, or else from MILVUS_TOKEN. Raises InputError for an
    address that cannot be read; its message never repeats the address, which may hold a password.
    """
    try:
        parts = urlsplit(address)
        given = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        host, port = parts.hostname, parts.port or 19530
    except ValueError:
        raise InputError("The Milvus address cannot be read.", f"Write it as {FORM}") from None
    vectors, prefix = given.pop("vectors", "scan"), given.pop("name", "")
    database = given.pop("db", "") if host else ""
    path = unquote(parts.path)
    if host:
        prefix = prefix or path.strip("/")
    prefix = prefix or "workbench"
    named = [prefix, database] if database else [prefix]
    if given or vectors not in get_args(Search) or not all(map(NAME.fullmatch, named)):
        raise InputError(
            "The Milvus address has a name or a parameter that cannot be used.",
            f"Write it as {FORM}; parameters are name, db (a server's database) and vectors "
            f"({' or '.join(get_args(Search))}).",
        )
    if not host:
        return _lite(path, prefix, vectors)  # type: ignore[arg-type]
    token = os.environ.get("MILVUS_TOKEN", "")
    if parts.password:
        token = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    scheme = "https" if parts.scheme == "milvus+tls" else "http"
    shown = f"{parts.scheme}://{host}:{port}/{prefix}" + (f"?db={database}" if database else "")
    uri = f"{scheme}://{host}:{port}"
    return MilvusAddress(uri, token, shown, prefix, vectors, database)  # type: ignore[arg-type]


def _lite(path: str, prefix: str, vectors: Search) -> MilvusAddress:
    if Path(path).suffix != ".db":
        raise InputError("A file of Milvus Lite must end in .db.", f"Write the address as {FORM}")
    file = str(Path(path).absolute())
    return MilvusAddress(file, "", f"milvus://{file}?name={prefix}", prefix, vectors)
