"""The address of an index in PostgreSQL, and its name without secrets."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from workbench.errors import InputError

SCHEMES = ("postgresql", "postgres")
Rank = Literal["ts_rank", "ts_rank_cd"]
Search = Literal["scan", "exact", "hnsw"]
SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,47}")
"""PostgreSQL cuts names after 63 bytes; a rebuild adds a suffix to this one."""
CONFIG = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,62}")
EF = re.compile(r"[1-9][0-9]{0,2}")
OURS = ("schema", "config", "rank", "vectors", "ef")
"""The parameters of an address that are not libpq's."""
DEFAULTS = {"connect_timeout": "10", "application_name": "workbench"}


@dataclass(frozen=True, repr=False)
class Address:
    """A database, the schema that holds the index, and how it is searched.

    `config` is the text search configuration: `simple` neither stems nor drops stop words, as FTS5's
    unicode61 does. `rank` names the ranking function. `vectors` says who finds the nearest vectors: `scan`
    (exact, in NumPy), or the server: `exact`, or `hnsw` (approximate, with the effort `ef`: pgvector's
    hnsw.ef_search).
    """

    conninfo: str
    name: str
    schema: str = "workbench"
    config: str = "simple"
    rank: Rank = "ts_rank_cd"
    vectors: Search = "scan"
    ef: int = 200

    def __repr__(self) -> str:
        return f"Address({self.name})"


def parse(address: str) -> Address:
    """Reads `postgresql://USER@HOST:PORT/DATABASE?schema=NAME&config=NAME&rank=NAME&vectors=NAME&ef=N`.

    All other parameters are libpq's. Raises InputError for an address that cannot be read; its message never
    repeats the address, which may hold a password.
    """
    try:
        parts = urlsplit(address)
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise _unreadable() from None
    ours = {key: value for key, value in given if key in OURS}
    theirs = [(key, value) for key, value in given if key not in ours]
    plain = urlunsplit(parts._replace(query=urlencode(theirs, quote_via=quote)))
    try:
        known = conninfo_to_dict(plain)
    except psycopg.Error:
        raise _unreadable() from None
    _check(ours)
    schema = ours.get("schema", "workbench")
    conninfo = make_conninfo("", **{**DEFAULTS, **known})
    effort = {"ef": int(ours.pop("ef"))} if "ef" in ours else {}
    return Address(conninfo, _name(known, schema), **ours, **effort)  # type: ignore[arg-type]


def _unreadable() -> InputError:
    return InputError(
        "The PostgreSQL address cannot be read.",
        "Write it as postgresql://USER@HOST:PORT/DATABASE, with special characters percent-encoded.",
    )


def _check(ours: dict[str, str]) -> None:
    rules: dict[str, tuple[Callable[[str], object], str]] = {
        "schema": (SCHEMA.fullmatch, "Use small letters, digits and _, at most 48."),
        "config": (CONFIG.fullmatch, "Name a text search configuration, such as simple or english."),
        "rank": (get_args(Rank).__contains__, f"Use {' or '.join(get_args(Rank))}."),
        "ef": (EF.fullmatch, "Use a number from 1 to 999."),
        "vectors": (get_args(Search).__contains__, f"Use one of {', '.join(get_args(Search))}."),
    }
    for key, value in ours.items():
        accepts, remedy = rules[key]
        if not accepts(value):
            raise InputError(f"{key}={value[:60]!r} cannot be used in a PostgreSQL address.", remedy)


def _name(known: dict[str, object], schema: str) -> str:
    """The address for messages: never the password, and no parameter that could be one."""
    user = f"{known['user']}@" if known.get("user") else ""
    port = f":{known['port']}" if known.get("port") else ""
    place = f"{user}{known.get('host') or 'localhost'}{port}/{known.get('dbname') or ''}"
    return f"postgresql://{place}?schema={schema}"
