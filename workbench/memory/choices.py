"""Remembers what the user has chosen for an index: extra paths, and a local model that is not packaged.

An index file is data that may come from somebody else. If its extra paths were followed, it could make this
program read files anywhere; a model's name in it could make the loader download or run what it names. The
choices are therefore kept in the user's cache folder, by the path of the index or its address on a server.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from workbench.errors import InputError
from workbench.memory.files import replaced
from workbench.trust import is_named

ADDRESS = re.compile(r"[\w+.-]{2,}:/")
"""How the address of an index on a server begins, also as a path, which has one slash of the two."""


@dataclass(frozen=True)
class Choices:
    """The user's choices for one index; `extra` holds for the memory in the folder `memory` alone."""

    memory: str = ""
    extra: tuple[str, ...] = ()
    model: str = ""


def index_home() -> Path:
    """The folder of all indexes and choices: WORKBENCH_HOME, or the user's cache folder."""
    home = os.environ.get("WORKBENCH_HOME")
    if home is None:
        from platformdirs import user_cache_dir

        home = user_cache_dir("workbench")
    return Path(home)


def is_default_path(path: Path) -> bool:
    """Whether the workbench itself gives indexes such a path: a name as `default_index_path` makes them.

    What lies there is no other program's file, and no file that the user has named.
    """
    named = re.fullmatch(r".+-[0-9a-f]{12}(\.as-.+)?\.sqlite", path.name)
    return path.parent == index_home() and named is not None


def choices_for(index_path: Path) -> Choices:
    """What the user has chosen for this index; no choices for an index that was not made here.

    Raises InputError when the file of the choices cannot be used.
    """
    file = _file(index_path)
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        return Choices(str(found["memory"]), tuple(map(str, found["extra"])), str(found["model"]))
    except (FileNotFoundError, PermissionError):
        return Choices()  # what this user may not read are the choices of another user
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"The choices for the index {index_path} in {file} cannot be read: {error!r}.",
            "Delete that file, then index again with the same --extra and --model.",
        ) from None


def extra_paths_of(root: Path, index_path: Path) -> tuple[str, ...]:
    """The extra paths that the user has chosen for the memory in the folder `root` and this index."""
    chosen = choices_for(index_path)
    return chosen.extra if chosen.memory == str(root.resolve()) else ()


def remember(index_path: Path, chosen: Choices) -> None:
    """Keeps the choices for this index. Raises StorageError when the cache folder cannot be written."""
    kept_or_chosen = os.path.exists(_file(index_path)) or chosen.extra or chosen.model
    if kept_or_chosen and chosen != choices_for(index_path):
        keep_json(_file(index_path), asdict(chosen))


def check_model(index_path: Path, model: str, address_variable: str = "") -> None:
    """Raises InputError for a model that only a file names: one that the user has not used with it here.

    A model that the user names now is remembered. `index_path` may be any file that holds vectors. The model
    of a provider may be any if its address is the user's own: the environment has it in `address_variable`.
    """
    chosen = choices_for(index_path)
    if chosen.model == model or os.environ.get(address_variable):
        return
    if not is_named(model):
        raise InputError(
            f"The index {index_path} names the model {model!r}, which you have not used with it here.",
            f"If you trust that model, give it once with the same command: --model {model}",
        )
    remember(index_path, replace(chosen, model=model))


def keep_json(file: Path, value: object) -> None:
    """Writes a value into a file of the cache folder. Raises StorageError when that fails."""
    with suppress(OSError):  # `replaced` says what is wrong
        file.parent.mkdir(parents=True, exist_ok=True)
    with replaced(file) as out:
        json.dump(value, out)


def _file(index_path: Path) -> Path:
    name = str(index_path)
    if not ADDRESS.match(name):
        # The index itself is a link to its newest build, so only the path above it is resolved.
        name = str(Path(os.path.expanduser(index_path)).parent.resolve() / index_path.name)
    return index_home() / f"choices-{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"
