"""The cache of released systems: installed after consent, whole or not at all."""

from __future__ import annotations

import json
import platform
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial as partial_function
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.memory.choices import index_home
from workbench.memory.data_files import load_data
from workbench.safe_text import one_line

NO_WHEEL = re.compile(r"No matching distribution found for (?!basic-memory)([\w.-]+)")
NO_SUCH = re.compile(r"notarget|No matching version|No matching distribution|E404|No match found")
REGISTRY = {"openclaw": "npm", "basic-memory": "PyPI"}
NODE = "24.21.0"
"""The Node that every release of OpenClaw runs on."""
SQLITE = "0.5.4.post2"
"""The version of pysqlite3-binary, the SQLite that Basic Memory gets here."""
VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){1,3}(-[a-z]{1,9}\.\d{1,6}|(a|b|rc)\d{1,6})?", re.ASCII)
"""A version, and nothing else that an installer understands, such as an address, a path or an alias."""


NPM = ("--ignore-scripts", "--no-audit", "--no-fund", "--force")
WHEELS = ("--quiet", "--only-binary", ":all:")
LIST = "requirements.txt"
"""The packages with their hashes, in the folder that they are installed into."""

Consent = Callable[[str, Callable[[], Sequence[str]]], bool]


def settings(package: str) -> dict[str, Any]:
    """What a release is told, from `releases.toml`."""
    told = load_data(__file__, "releases.toml")
    found: dict[str, Any] = told[package]
    return found


@dataclass(frozen=True)
class Installed:
    """Where a release of a package is, or would be, and what runs it."""

    package: str
    version: str
    node: Path | None = None
    python: str = "python3.12"
    from_source: bool = False

    def __post_init__(self) -> None:
        if not VERSION.fullmatch(self.version):
            raise InputError(
                f"{one_line(self.version)[:100]!r} is no version of {self.package}.",
                "Name a release by its version alone, such as --release 2026.9.6",
            )

    @property
    def packages(self) -> list[str]:
        """What is asked of the registry, each with its version."""
        if self.package == "openclaw":
            return [f"openclaw@{self.version}", *([] if self.node else [f"{_node_package()}@{NODE}"])]
        return [f"basic-memory=={self.version}", f"pysqlite3-binary=={SQLITE}"]

    @property
    def folder(self) -> Path:
        return index_home() / "releases" / f"{self.package}-{self.version}"

    @property
    def node_folder(self) -> Path | None:
        """The folder of the node that runs it: the one that was given, or the one installed beside it."""
        own = self.folder / "node_modules" / _node_package() / "bin"
        return self.node or (own if own.is_dir() else None)

    @property
    def interpreter(self) -> str:
        """The Python of the environment that has it."""
        return str(self.folder / "bin" / "python")

    def install(self, consent: Consent, until: str = "") -> Installed:
        """Installs the release, unless it is here, and returns it. The cache has all of it, or is as before.

        `consent` gets a question, and a function that asks the registry for the packages and returns them
        with their versions. Exactly these are installed. With `from_source` it is asked first for each
        package without a wheel, which runs a script to say what it needs.

        With `until`, a release that was never published is replaced by the first one after it and before
        `until`, or else by the last one before it. Raises InputError without consent, for a release that does
        not exist, and if the installer fails.
        """
        if self.folder.is_dir():
            return self
        registry = REGISTRY[self.package]
        what = f"{self.package} {self.version} from {registry} into {self.folder} (about 1 GB)"
        scripts = "; packages without a wheel run scripts" if self.from_source else ""
        partial = self.folder.with_name(f".partial-{secrets.token_hex(8)}")
        try:
            if not consent(f"Install {what}{scripts}?", partial_function(self._resolved, partial, consent)):
                raise InputError(f"{self.package} {self.version} is not installed.", "Allow it with --yes.")
            for command in self._commands(partial):
                _run(command, partial)
            partial.rename(self.folder)
            return self
        except (subprocess.CalledProcessError, OSError, ValueError, KeyError, TypeError) as error:
            said = f"{getattr(error, 'stderr', '')}{getattr(error, 'stdout', '')}" or str(error)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        if self.package == "basic-memory" and not self.from_source and (lacking := NO_WHEEL.search(said)):
            raise InputError(
                f"{self.package} {self.version} needs {lacking[1]}, which has no wheel here: its "
                "installation would run a script.",
                "If you trust the packages without a wheel: --from-source",
            )
        of_another = re.search(rf"found for (?!{re.escape(self.package)}[=@])", said)  # which it needs
        if of_another or not NO_SUCH.search(said):
            last = [line.strip() for line in said.splitlines() if line.strip()][-1:]
            raise InputError(
                f"{self.package} {self.version} could not be installed: {''.join(last)[:200]}",
                "The cache is as before. Look at the network and the space on the disk, and try again.",
            )
        near = self._near(until)
        if near and until:
            return replace(self, version=near).install(consent)
        raise InputError(
            f"{self.package} {self.version} is not on {registry}.",
            f"The last release before it is --release {near}" if near else "Name another --release.",
        )

    def _check_python(self) -> None:
        asked = [self.python, "-I", "-c", "import sys; sys.exit(sys.version_info < (3, 12))"]
        if self.package == "basic-memory" and (
            shutil.which(self.python) is None
            or subprocess.run(asked, check=False, capture_output=True).returncode
        ):
            raise InputError(
                f"{self.python} is no Python 3.12 or newer that runs.", "Name one: --python FILE"
            )

    def _resolved(self, folder: Path, consent: Consent) -> list[str]:
        """The packages that the release needs, each with its version; puts a list with hashes into `folder`.

        Nothing is installed. With `from_source`, a package without a wheel runs a script to say what it
        needs, after `consent` to that package.
        """
        self._check_python()
        folder.mkdir(parents=True)
        if self.package == "openclaw":
            about = json.dumps(settings("openclaw")["package"])
            (folder / "package.json").write_text(about, encoding="utf-8")
            _run(["npm", "install", "--package-lock-only", *NPM, *self.packages], folder)
            return sorted(_locked(json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))))
        report, sources = folder / "report.json", list[str]()
        asking = [self.python, "-I", "-m", "pip", "install", *WHEELS, "--dry-run", "--ignore-installed"]
        asking += ["--report", str(report), *self.packages]
        while lacking := self._lacks_a_wheel([*asking, *sources], folder):
            said = f"Run the script of {lacking}, which has no wheel, so that it says what it needs?"
            if not consent(said, lambda lacking=lacking: [lacking]):  # type: ignore[misc]
                raise InputError(f"{self.package} {self.version} is not installed.", "Allow it with --yes.")
            sources += ["--no-binary", lacking]
        found = _reported(json.loads(report.read_text(encoding="utf-8")))
        lines = [f"--no-binary {one}" for one in sources[1::2]]
        lines += [f"{one} --hash=sha256:{sha256}" for one, sha256 in found.items()]
        (folder / LIST).write_text("\n".join(lines), encoding="utf-8")
        return sorted(found)

    def _lacks_a_wheel(self, command: list[str], folder: Path) -> str:
        """The package that stops pip for want of a wheel and may run a script; empty if nothing stops pip."""
        try:
            _run(command, folder)
        except subprocess.CalledProcessError as error:
            lacking = NO_WHEEL.search(f"{error.stderr}{error.stdout}")
            if not self.from_source or lacking is None or lacking[1] in command:
                raise
            return lacking[1]
        return ""

    def _commands(self, folder: Path) -> list[list[str]]:
        """What installs the list of a folder. No script runs but those of packages that the list names so."""
        if self.package == "openclaw":
            return [["npm", "ci", *NPM]]
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", *WHEELS]
        pip += ["--no-deps", "--require-hashes", "-r", LIST]
        return [[self.python, "-m", "venv", str(folder)], pip]

    def _near(self, until: str) -> str:
        """The published release that stands for this one; empty if the registry names none."""
        lists = {
            "openclaw": ["npm", "view", "openclaw", "versions", "--json"],
            "basic-memory": [sys.executable, "-I", "-m", "pip", "index", "versions", "basic-memory"],
        }
        # In the cache: npm would read the settings of the current folder.
        asked = subprocess.run(
            lists[self.package], cwd=self.folder.parent, check=False, capture_output=True, text=True
        )
        published: list[str] = sorted(
            re.findall(r"(?<![\w.-])\d+(?:\.\d+)+(?![\w.-])", asked.stdout), key=numbered
        )
        later = [one for one in published if numbered(self.version) < numbered(one) < numbered(until)]
        return ([one for one in published if numbered(one) < numbered(self.version)] + later[:1] or [""])[-1]


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)


def _locked(lock: dict[str, Any]) -> Iterator[str]:
    """The packages of npm's lock file: `name@version`, or the address of one from outside the registry.

    A package that lies inside another one's archive has no digest and no address of its own.

    >>> list(_locked({"packages": {"node_modules/a/node_modules/b": {"version": "1.8.0", "inBundle": True}}}))
    ['b@1.8.0']
    """
    for path, about in lock["packages"].items():
        if path:
            name = path.rpartition("node_modules/")[2]
            known = "integrity" in about or about.get("inBundle")
            yield f"{name}@{about['version']}" if known else f"{name} from {about['resolved']}"


def _reported(report: dict[str, Any]) -> dict[str, str]:
    """The packages of pip's report as `name==version`, each with the hash of its wheel."""
    return {
        f"{one['metadata']['name']}=={one['metadata']['version']}": one["download_info"]["archive_info"][
            "hashes"
        ]["sha256"]
        for one in report["install"]
    }


def _node_package() -> str:
    """The npm package that has the node of this machine, whole and without a script."""
    system = {"darwin": "node-bin-darwin"}.get(sys.platform, f"node-{sys.platform}")
    return f"{system}-{ {'x86_64': 'x64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine()) }"


def numbered(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare versions by.

    >>> numbered("2026.9.6") > numbered("2026.2.13")
    True
    """
    return tuple(int(one) for one in re.findall(r"\d+", version))
