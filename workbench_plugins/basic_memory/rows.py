"""The rows that Basic Memory's full-text table has beside its notes: one for each observation and relation.

A search for notes does not return them, but bm25() counts them: they change the number of rows, the mean
length, and how many rows have a word. The rules were seen in the databases that release 0.23.2 wrote for our
own notes.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

TASK = re.compile(r"\[(?:[xX]|[^\w\]])\](?:\s|$)")
"""A task or another mark of one character: `[ ]`, `[x]`, `[-]`. Its line is no observation."""
CATEGORY = re.compile(r"\[([^\[\]()]+)\]\s+(.+)")
"""`[category] content`: the content ends with the line."""
LINK = r"\[\[((?:[^\[\]]|\[\[[^\[\]]*\]\])*)\]\]"
RELATION = re.compile(r"(?:['\"](.+)['\"]|([^\s\[]\S*))\s+\[\[([^\[\]]*)\]\](?:\s*\(.*\))?")
"""`type [[Target]]` or `type [[Target]] (context)`; a type of several words stands in quotes."""
INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\1).)+\1", re.DOTALL)
LINKS_TO = "links_to"


class Block(NamedTuple):
    """The text of a paragraph, a heading or a list item's paragraph, what it stands in, and its links."""

    text: str
    in_item: bool
    in_quote: bool
    links: tuple[str, ...] = ()


class Named(NamedTuple):
    """A note by its names: its title, its permalink and its path."""

    title: str
    permalink: str
    path: str


def blocks(body: str) -> Iterator[Block]:
    """The texts of a note's body; code is left out.

    >>> [one.text for one in blocks("# Tea #hot\\n\\n- [fact] green\\n\\n    code")]
    ['Tea #hot', '[fact] green', 'code']
    """
    within = {"list_item": 0, "blockquote": 0}
    for token in MarkdownIt("commonmark").parse(body):
        kind = token.type.removesuffix("_open").removesuffix("_close")
        if kind in within:
            within[kind] += token.nesting
        elif token.type == "inline":
            links = (str(one.attrs["href"]) for one in token.children or () if one.type == "link_open")
            yield Block(token.content, within["list_item"] > 0, within["blockquote"] > 0, tuple(links))


def observation(block: Block) -> tuple[str, str] | None:
    """The category and the content of an observation; None for a block that is none.

    A block with a word that begins with # has the category note. A context in parentheses at the end is left
    out.

    >>> observation(Block("[fact] boils (slowly)", True, False)), observation(Block("[ ] wash", True, False))
    (('fact', 'boils'), None)
    >>> observation(Block("Ticket #1234 is open", False, False))
    ('note', 'Ticket #1234 is open')
    """
    if block.in_quote or TASK.match(block.text):
        return None
    found = CATEGORY.match(block.text)
    if not found and not any(word.startswith("#") for word in block.text.split()):
        return None
    category, content = (found[1].strip(), found[2]) if found else ("note", block.text)
    content = content.strip()
    if content.endswith(")") and "(" in content:
        content = content[: content.rindex("(")].strip()
    return (category, content) if content else None


def relations(block: Block) -> list[tuple[str, str]]:
    """The type and the target of each relation: the type of a list item with one link, else links_to.

    >>> relations(Block("part_of [[Tea]] (of five)", True, False))
    [('part_of', 'Tea')]
    >>> relations(Block("part_of [[Tea]]", False, False))
    [('links_to', 'Tea')]
    """
    typed = RELATION.fullmatch(block.text.strip()) if block.in_item else None
    if typed:
        return [(typed[1] or typed[2], typed[3].strip())] if typed[3].strip() else []
    return [(LINKS_TO, target.strip()) for target in re.findall(LINK, block.text) if target.strip()]


def without_code(block: Block) -> Block:
    """A block without the links in the code within its lines, and without those behind a backslash.

    >>> relations(without_code(Block("see `[[Code]]`, \\\\[[Mug]] and [[Tea]]", False, False)))
    [('links_to', 'Tea')]
    """
    text = INLINE_CODE.sub(lambda code: code[0].replace("[[", " "), block.text)
    return block._replace(text=text.replace("\\[[", " "))


def linked_files(block: Block, source: str) -> Iterator[tuple[str, str]]:
    """The links of a block to files beside the note `source`: each as it is kept, and the path that it means.

    >>> block = Block("", False, False, ("../a%20b.md#c", "https://x.example", "/root.md"))
    >>> list(linked_files(block, "notes/tea.md"))
    [('../a b.md', 'a b.md')]
    """
    for link in block.links:
        parts = urlsplit(link)
        path = unquote(parts.path)
        meant = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        inside = path and not path.startswith("/") and not path.endswith("/") and not meant.startswith("..")
        if inside and not parts.scheme and not parts.netloc:
            yield path if path.startswith(".") else f"./{path}", meant


def known_names(names: Sequence[Named]) -> Mapping[str, Named | None]:
    """The notes by title, permalink and path; None for a title of several notes, which then means none."""
    titles = Counter(one.title for one in names)
    several: dict[str, Named | None] = {title: None for title, count in titles.items() if count > 1}
    return {name: one for one in reversed(names) for name in one} | several


def target_of(
    name: str, permalink: str, source: Named, known: Mapping[str, Named | None], project: str
) -> Named | None:
    """The note that a link means: the one of that name or path, or else of the name's permalink; or None.

    What follows a bar is only shown. A note that names itself in other letters is not found.
    """
    shown = name.partition("|")[0].strip()
    full = f"{project}/{permalink}"
    if shown in known:
        return known[shown] or (source if source.permalink == full else None)
    by_path = known.get(f"{shown}.md") or known.get(shown.removeprefix(f"{project}/"))
    by_permalink = known.get(full)
    return by_path or (None if by_permalink == source else by_permalink)
