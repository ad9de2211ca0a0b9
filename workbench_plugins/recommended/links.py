"""What the lines of other files say beside a link to a file.

A page that lists others often says best what each of them is for. Source: Craswell, Hawking and Robertson,
"Effective site finding using link anchor information", SIGIR 2001.
"""

from __future__ import annotations

import posixpath
import re
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote

from workbench_plugins.recommended.keywords import content_stems

LINK = re.compile(
    r"(?<!!)(?:\[([^\[\]]{0,300})\]\(<?([^()<>\s]{1,300})>?(?:\s[^()]{0,300})?\)"
    r"|\[\[([^\[\]|#]{1,300})(?:#[^\[\]|]{0,300})?(?:\|([^\[\]]{0,300}))?\]\])"
)
"""A link of Markdown, [text](target), or of a wiki, [[target#heading|text]]; an image is none."""
LISTED = re.compile(r"\s*(?:[-*+]\s|\d{1,4}[.)]\s|\|)")
"""An item of a list or a row of a table says what the file is that it links to. Prose that mentions a file is
about other things, too: there the text of the link counts alone."""
OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.IGNORECASE)


class Link(NamedTuple):
    """One way to write the file that is linked to, and the stems of what is said beside the link."""

    target: str
    stems: str


class LinkFrom(NamedTuple):
    """The file that has a link, and the stems of what it says beside the link."""

    path: str
    stems: str


def links_in(path: str, lines: Iterable[str]) -> list[Link]:
    """The links in the lines of a file, each once, in two forms: from the root (/a/b), and as it is written.

    >>> links_in("memory/tea.md", ["- [Kites](../out/kites.md#tails): strings and tails"])
    [Link(target='/out/kites', stems='kite string tail'), Link(target='out/kites', stems='kite string tail')]
    """
    found = dict.fromkeys(
        Link(target, stems)
        for line in lines
        for written, stems in _in_line(line)
        for target in (f"/{_bare(posixpath.join(posixpath.dirname(path), written))}", _bare(written))
    )
    return list(found)


def _in_line(line: str) -> list[tuple[str, str]]:
    """The targets of a line's links to files, and the stems of what is said beside each."""
    links = list(LINK.finditer(line)) if "](" in line or "[[" in line else []
    listed = LISTED.match(line)
    whole = LINK.sub(_text, line[listed.end() :]) if links and listed else ""
    return [
        (target, " ".join(dict.fromkeys(content_stems(whole or _text(link)))))
        for link in links
        if not OUTSIDE.match(target := unquote(link[2] or link[3]))
    ]


def _text(link: re.Match[str]) -> str:
    return link[1] or link[4] or link[3] or ""


def _bare(written: str) -> str:
    """A path without what links leave out: the anchor, the dots and slashes in front, .md and /index."""
    path = posixpath.normpath(re.split(r"[?#]", written)[0].lstrip("/")).lower()
    while path.startswith("../"):
        path = path[3:]
    return path.removesuffix(".md").removesuffix("/index")


def _names(path: str) -> list[str]:
    """The ways to write a path: whole, without its first folder, and so on to its last part alone.

    >>> _names("memory/Out/kites.md")
    ['memory/out/kites', 'out/kites', 'kites']
    """
    parts = _bare(path).split("/")
    return ["/".join(parts[start:]) for start in range(len(parts))]


class LinkTable(ABC):
    """The links to each of some files, by their paths."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self._known: dict[int, Mapping[frozenset[str], str]] = {}

    @abstractmethod
    def to(self, target: str) -> list[LinkFrom]:
        """The links with this target."""

    @cached_property
    def _shared(self) -> Counter[str]:
        """How many files each name stands for."""
        return Counter(name for path in self._paths for name in _names(path))

    def lines_to(self, file: int) -> Mapping[frozenset[str], str]:
        """The stems of each line of another file that links to this one, with the path of that file."""
        if file not in self._known:
            path = self._paths[file]
            found = sorted(one for target in self._targets(file) for one in self.to(target))
            lines = {one.stems: one.path for one in reversed(found) if one.path != path}
            self._known[file] = {frozenset(stems.split()): lines[stems] for stems in sorted(lines)}
        return self._known[file]

    def place(self, file: int, stems: frozenset[str], path: str, lines: Mapping[int, str]) -> str:
        """Where the first line with these stems that links to this file stands: `hub.md:3`.

        `lines` are those of the file `path`, by their numbers. Without such a line it is the path alone.
        """
        targets = self._targets(file)
        numbers = (
            str(number)
            for number, line in sorted(lines.items())
            if any(one.target in targets and {*one.stems.split()} == stems for one in links_in(path, [line]))
        )
        return ":".join([path, *islice(numbers, 1)])

    def _targets(self, file: int) -> list[str]:
        """The targets of links to a file. A name that several files have is no link to any of them."""
        names = _names(self._paths[file])
        return [f"/{names[0]}", *(name for name in names if self._shared[name] == 1)]


class Links(LinkTable):
    """The links of some files, held in memory."""

    def __init__(self, paths: Sequence[str], links: Sequence[Sequence[Link]]) -> None:
        super().__init__(paths)
        self._links: dict[str, list[LinkFrom]] = defaultdict(list)
        for path, some in zip(paths, links, strict=True):
            for link in some:
                self._links[link.target].append(LinkFrom(path, link.stems))

    def to(self, target: str) -> list[LinkFrom]:
        return self._links.get(target, [])
