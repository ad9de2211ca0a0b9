"""The cache of released systems: installed after consent, whole or not at all."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.confirm.openclaw import Release
from workbench.errors import InputError
from workbench.memory.choices import index_home

NO_SUCH = re.compile(r"notarget|No matching version|No matching distribution|E404")
NEED = {"openclaw": "npm", "basic-memory": "PyPI"}
LISTED = {"openclaw": "npm view openclaw versions", "basic-memory": "pip index versions basic-memory"}


@dataclass(frozen=True)
class Installed:
    """Where a release of a package is, or would be, and what runs it."""

    package: str
    version: str
    node: Path | None = None
    python: str = "python3.12"

    @property
    def folder(self) -> Path:
        return index_home() / "releases" / f"{self.package}-{self.version}"

    @property
    def here(self) -> bool:
        """Whether the release is in the cache."""
        return self.folder.is_dir()

    def install(self, consent: Callable[[str], bool]) -> None:
        """Installs the release, unless it is here. The cache has all of it, or is as before.

        Raises InputError without consent, for a release that does not exist, and if the installer fails.
        """
        if self.here:
            return
        what = f"{self.package} {self.version} from {NEED[self.package]} into {self.folder} (about 650 MB)"
        if not consent(f"Install {what}?"):
            raise InputError(f"{self.package} {self.version} is not installed.", "Allow it with --yes.")
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=self.folder.parent))
        try:
            self._into(partial)
            partial.rename(self.folder)
        except (subprocess.CalledProcessError, OSError) as error:
            said = f"{getattr(error, 'stderr', '')}{getattr(error, 'stdout', '')}" or str(error)
            raise self._failed(said) from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _into(self, folder: Path) -> None:
        if self.package == "openclaw":
            Release(self.version, folder, self.node).install()
            return
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "pysqlite3-binary"]
        for command in ([self.python, "-m", "venv", str(folder)], [*pip, f"basic-memory=={self.version}"]):
            subprocess.run(command, check=True, capture_output=True, text=True)

    def _failed(self, said: str) -> InputError:
        name = f"{self.package} {self.version}"
        if NO_SUCH.search(said):
            return InputError(
                f"{name} is not on {NEED[self.package]}.", f"See what is: {LISTED[self.package]}"
            )
        last = [line.strip() for line in said.splitlines() if line.strip()][-1:]
        return InputError(
            f"{name} could not be installed: {''.join(last)[:200]}",
            "The cache is as before. Look at the network and the space on the disk, and try again.",
        )


def numbered(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare versions by.

    >>> numbered("2026.9.6") > numbered("2026.2.13")
    True
    """
    return tuple(int(one) for one in re.findall(r"\d+", version))
