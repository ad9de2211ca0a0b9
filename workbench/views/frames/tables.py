"""Tables that a reader sorts and searches in a notebook, without a network and in a small file.

DataTables draws them, through itables. Its script and the rows are compressed here, and only one cell of a
notebook carries the script (1 MB as itables writes it), so that a saved notebook stays small and still works.
"""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode, b64encode
from functools import cache
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.safe_text import visible
from workbench.views.frames.make import Frame, frame, pandas

LONGEST_CELL = 200
"""The number of characters shown of a long text; `to_frame()` has all of it."""

LARGEST_TABLE = "2MB"
"""A larger table, before it is compressed, is shown in part; itables says so below it."""

NAME = "workbench-sortable"
STYLE = (
    f"<style>.{NAME}{{overflow-x:auto}}.{NAME}.{NAME} td,.{NAME}.{NAME} th"
    "{white-space:nowrap!important;max-width:24em;overflow:hidden;text-overflow:ellipsis;text-align:left}"
    f".{NAME}.{NAME} .dt-type-numeric{{text-align:right}}.{NAME} div.dt-container{{background:none}}</style>"
)
"""One line for each row: what is longer is cut where the column ends. The name stands twice, since JupyterLab
aligns all cells to the right with a longer selector."""

OTHER_RELEASE = InputError("This release of itables writes another script.", "Install itables 2.9.")

UNPACK = """
window.workbenchUnpacked ??= async function (text) {
    const bytes = Uint8Array.from(atob(text), one => one.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};
"""


class NotebookTable:
    """A table of pandas that shows itself with a search box and with headers that sort."""

    def __init__(self, shown: Frame, rows: int) -> None:
        self.frame, self.rows = shown, rows

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": repr(self.frame), "text/html": _loader() + _html(self.frame, self.rows)}


def table(thing: Any, rows: int = 10) -> NotebookTable:
    """The table of a value, or of a DataFrame, to sort and to search; `rows` are shown at once.

    Long texts are shortened to LONGEST_CELL characters. Raises InputError for a value without a table, and if
    pandas or itables is not installed.
    """
    made = thing if isinstance(thing, pandas().DataFrame) else frame(thing)
    _itables()
    if rows < 1:
        raise InputError(f"A table of {rows} rows shows nothing.", "Give 1 or more.")
    return NotebookTable(made, rows)


def _itables() -> Any:
    try:
        import itables
    except ImportError:
        raise InputError(
            "A table to sort and search needs itables, which is not installed.",
            "Install it: pip install 'hybrid-search-workbench[lab]'",
        ) from None
    return itables


def _html(shown: Frame, rows: int) -> str:
    html: str = _itables().to_html_datatable(
        shown.map(_cell).rename(columns=_cell),
        connected=False,
        allow_html=False,
        showIndex=False,
        text_in_header_can_be_selected=False,  # a click on a header sorts
        maxBytes=LARGEST_TABLE,
        pageLength=rows,
        lengthMenu=sorted({rows, 10, 25, 100}),
        display_logo_when_loading=False,
        style="table-layout:auto;width:auto;float:left;caption-side:top",
        classes="display compact",
    )
    return f'{STYLE}<div class="{NAME}">{_packed_table(html)}</div>'


def _packed_table(html: str) -> str:
    """The HTML of itables with compressed rows, which a function of the loader unpacks."""
    rows, begin = re.compile(r"let dt_args = (\{\n.*?\n *\});\n", re.S), "async function init() {\n"
    found = rows.search(html)
    if found is None or begin not in html:
        raise OTHER_RELEASE
    packed = b64encode(gzip.compress(json.dumps(json.loads(found[1])).encode(), mtime=0)).decode()
    html = f"{html[: found.start()]}let dt_args = unpacked;\n{html[found.end() :]}"
    return html.replace(
        begin, f'{begin}const unpacked = JSON.parse(await window.workbenchUnpacked("{packed}"));\n'
    )


def _cell(value: Any) -> Any:
    """A text without control characters, shortened; other values as they are."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


_carriers: set[str] = set()
"""The cell of this notebook whose output carries the script of DataTables."""


def _loader() -> str:
    """The script of DataTables, for the first cell that shows a table and for each run of this cell."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is None or not hasattr(shell, "get_parent"):
        return _script()  # no notebook: each table stands alone
    here = str(shell.get_parent().get("metadata", {}).get("cellId", ""))
    if _carriers and (not here or here not in _carriers):
        return ""
    _carriers.add(here)
    return _script()


@cache
def _script() -> str:
    """What itables writes for a page without a network, with the script and its style compressed."""
    from itables import options
    from itables.javascript import generate_init_offline_itables_html

    page: str = generate_init_offline_itables_html(Path(options.dt_bundle))
    page = page[: page.index("</script>") + len("</script>")]
    packed = re.sub(r'"([A-Za-z0-9+/=]{1000,})"', lambda found: f'"{_packed(found[1])}"', page)
    for old, new in (
        (".then(() => {", ".then(page => {\n        page.set_or_remove_dark_class();"),
        ("function injectCSS", f"{UNPACK}async function injectCSS"),
        ("const cssText = atob(", "const cssText = await workbenchUnpacked("),
        ("const jsText = atob(", "const jsText = await workbenchUnpacked("),
    ):
        if old not in packed:
            raise OTHER_RELEASE
        packed = packed.replace(old, new)
    return packed


def _packed(encoded: str) -> str:
    return b64encode(gzip.compress(b64decode(encoded), mtime=0)).decode()
