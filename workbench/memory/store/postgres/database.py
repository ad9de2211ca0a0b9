"""A connection to PostgreSQL, its transactions, and the server's errors as messages with a remedy."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from pgvector.psycopg import register_vector
from psycopg import errors, sql

from workbench.errors import InputError, WorkbenchError
from workbench.memory.store.errors import DamagedError, LockedError, UnwritableError
from workbench.memory.store.postgres.address import Address

BUSY_SECONDS = 10
"""How long a statement waits for another session that is writing."""
BUILD = "_build"
"""The suffix of the schema in which a new build is made."""


OVERLOADED = (
    errors.InsufficientResources,
    errors.OutOfMemory,
    errors.TooManyConnections,
    errors.ConfigurationLimitExceeded,
)


class UnreadableQueryError(DamagedError):
    """The server cannot read the text of a full-text query."""


@contextmanager
def plain_errors(name: str) -> Iterator[None]:
    """Turns the server's errors in the block into a WorkbenchError that names index and remedy."""
    try:
        yield
    except psycopg.Error as error:
        raise _plain(name, error) from None


def _plain(name: str, error: psycopg.Error) -> WorkbenchError:
    said = _said(error)
    if isinstance(error, errors.SyntaxError):
        return UnreadableQueryError(f"PostgreSQL cannot read a query for {name}: {said}.", "Ask with words.")
    if isinstance(error, errors.DiskFull):
        return UnwritableError(
            f"The disk of {name} is full. What was indexed before is unchanged.",
            "Free some space on the server. Then index again.",
        )
    if isinstance(error, (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure)):
        return LockedError(
            f"The index {name} is locked: another session is writing it.",
            "Try again when that session is done.",
        )
    if isinstance(error, (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction)):
        return UnwritableError(f"The index {name} cannot be written: {said}.", "Use a user with more rights.")
    if isinstance(error, (errors.UndefinedTable, errors.UndefinedColumn, errors.DataException)):
        return DamagedError(
            f"The index {name} is damaged: {said}.", f"Build it again: {_again(name, '--rebuild')}"
        )
    if isinstance(error, errors.QueryCanceled):
        return UnwritableError(
            f"The server of {name} has ended a statement: {said}. What was stored before is unchanged.",
            "Try again when the server has less to do, or raise this user's statement_timeout.",
        )
    if isinstance(error, OVERLOADED):
        return _overloaded(name, said)
    if isinstance(error, psycopg.OperationalError):
        return UnwritableError(
            f"The connection to {name} was lost: {said}. What was stored before is unchanged.",
            f"Check the server. Then index again: {_again(name)}",
        )
    return DamagedError(f"PostgreSQL refused a statement for {name}: {said}.", "Check the server's log.")


def _overloaded(name: str, said: str) -> UnwritableError:
    return UnwritableError(
        f"The server of {name} takes no more work at the moment: {said}. "
        "What was stored before is unchanged.",
        "Try again when others are done, or raise the server's limits, such as max_connections.",
    )


def _again(name: str, *options: str) -> str:
    return " ".join(["workbench index FOLDER --store", f"'{name}'", *options])


def _said(error: psycopg.Error) -> str:
    """The server's own words, in one line and without its context."""
    text = error.diag.message_primary or str(error).partition("\n")[0] or type(error).__name__
    return text.strip().rstrip(".")


def connect(address: Address) -> psycopg.Connection[Any]:
    """A connection outside any transaction.

    Raises StorageError when there is no server or it refuses the user, and InputError for a database that
    does not exist or has no pgvector.
    """
    try:
        connection = psycopg.connect(address.conninfo, autocommit=True)
    except psycopg.OperationalError as error:
        raise _not_connected(address, str(error)) from None
    try:
        with plain_errors(address.name):
            connection.execute(f"SET lock_timeout = '{BUSY_SECONDS}s'")
            _use_vectors(address, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _not_connected(address: Address, said: str) -> WorkbenchError:
    last = said.strip().splitlines()[-1] if said.strip() else "no answer"
    if "does not exist" in said and "database" in said:
        return InputError(f"There is no such database: {address.name}.", "Make it: createdb NAME")
    if "too many" in said or "connection slots" in said:
        return _overloaded(address.name, _without_address(last))
    if "password" in said or "authentication" in said or "role" in said:
        return UnwritableError(
            f"The server of {address.name} refuses this user: {_without_address(last)}.",
            "Check the user, and give the password in PGPASSWORD or in ~/.pgpass.",
        )
    return UnwritableError(
        f"No PostgreSQL server answers at {address.name}: {_without_address(last)}.",
        "Start the server, or check host and port.",
    )


def _without_address(line: str) -> str:
    """libpq's reason after `connection to server at ... failed:`."""
    return line.rpartition("failed: ")[2].strip().rstrip(".?")


def _use_vectors(address: Address, connection: psycopg.Connection[Any]) -> None:
    """Makes pgvector's types known. Its extension may be in any schema."""
    found = connection.execute(
        "SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace "
        "WHERE extname = 'vector'"
    ).fetchone()
    if found is None:
        found = _install_vectors(address, connection)
    path = sql.SQL(", ").join(map(sql.Identifier, dict.fromkeys((address.schema, str(found[0]), "public"))))
    connection.execute(sql.SQL("SET search_path = {}").format(path))
    register_vector(connection)


def _install_vectors(address: Address, connection: psycopg.Connection[Any]) -> Sequence[Any]:
    try:
        connection.execute("CREATE EXTENSION vector")
    except psycopg.Error as error:
        raise InputError(
            f"The database of {address.name} does not have the extension pgvector: {_said(error)}.",
            "Install pgvector on the server, then run as its administrator: CREATE EXTENSION vector",
        ) from None
    return connection.execute("SELECT current_schema()").fetchone() or ("public",)


class Session:
    """One connection with its transactions, for one thread at a time."""

    def __init__(self, address: Address, connection: psycopg.Connection[Any]) -> None:
        self.address = address
        self.db = connection
        self._reading = False

    def close(self) -> None:
        """Closes the connection; one that the server has closed is closed already."""
        self.db.close()

    @property
    def busy(self) -> bool:
        """Whether a transaction is open."""
        return self.db.info.transaction_status != psycopg.pq.TransactionStatus.IDLE

    def execute(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor[Any]:
        """Runs one statement; its values travel beside it, never inside its text."""
        with plain_errors(self.address.name):
            return self.db.execute(statement.encode(), values or None)

    def execute_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Runs one statement for each row of values."""
        with plain_errors(self.address.name), self.db.cursor() as cursor:
            cursor.executemany(statement.encode(), rows)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all writes inside the block are kept, or none. Blocks nest."""
        if self._reading:
            raise RuntimeError("Writes inside a block of `reading` would be lost.")
        if self.busy:
            yield
            return
        with plain_errors(self.address.name), self.db.transaction():
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One state of the database for all reads inside the block."""
        if self.busy:
            yield
            return
        with plain_errors(self.address.name):
            self.db.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._reading = True
            try:
                yield
            finally:
                self._reading = False
                if not self.db.closed:
                    with suppress(psycopg.OperationalError):  # a lost connection has nothing to roll back
                        self.db.rollback()

    @contextmanager
    def time_limit(self, seconds: float) -> Iterator[None]:
        """Cancels the statement that runs after so many seconds, and raises InputError then."""
        cancelled = threading.Event()

        def cancel() -> None:
            cancelled.set()
            self.db.cancel_safe(timeout=BUSY_SECONDS)

        timer = threading.Timer(seconds, cancel)
        timer.daemon = True
        timer.start()
        try:
            yield
        except WorkbenchError:
            if not cancelled.is_set():
                raise
            raise InputError(
                f"The search was stopped after {seconds:g} s.", "Ask with fewer words, or with rarer ones."
            ) from None
        finally:
            timer.cancel()
