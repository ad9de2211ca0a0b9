"""What a notebook asks for any value: `show` shows it, and `table` shows its table to sort and to search.

A table needs no network. DataTables draws it, through itables. One cell of a notebook carries its script,
which adds 1 MB to a saved notebook; the others find it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.errors import InputError, install_extra
from workbench.records import Shown, Tabular
from workbench.safe_text import visible
from workbench.tables import NO_FORMULAS, Block, Code, Excerpt, Fold, Line, Note, Part, Picture, Table, pandas
from workbench.terminal import in_notebook, print_parts


def show(thing: Any, details: bool = False) -> None:
    """Prints a result in words and tables as wide as the terminal; a notebook shows it as it shows the value.

    With `details`, prints also what a notebook folds, as text.
    """
    if isinstance(thing, Shown) and in_notebook() and not details:
        from IPython.display import display  # which takes long to import

        display(thing)  # type: ignore[no-untyped-call]
    elif isinstance(thing, str):
        print_parts([Block(thing)], soft_wrap=True)
    else:
        print_parts(parts_of(thing), details=details)


def parts_of(thing: Any) -> Sequence[Part]:
    """The parts of a result, of a part, or of a list of both; for any other value its text."""
    match thing:
        case Shown():
            return thing.view()
        case str() | Line() | Block() | Code() | Excerpt() | Table() | Fold() | Note() | Picture():
            return [thing]
        case list():
            return [part for one in thing for part in parts_of(one)]
    return [Block(str(thing))]


LONGEST_CELL = 200
"""The number of characters shown of a long text; `to_frame()` has all of it."""

LARGEST_TABLE = "2MB"
"""A larger table is shown in part; itables says so below it."""

NAME = "workbench-sortable"
STYLE = (
    f"<style>.{NAME}{{overflow-x:auto}}.{NAME}.{NAME} td,.{NAME}.{NAME} th"
    "{white-space:nowrap!important;max-width:24em;overflow:hidden;text-overflow:ellipsis;text-align:left}"
    f".{NAME}.{NAME} .dt-type-numeric{{text-align:right}}.{NAME} div.dt-container{{background:none}}</style>"
)
"""One line for each row: what is longer is cut where the column ends. The name stands twice, since JupyterLab
aligns all cells to the right with a longer selector."""


class NotebookTable:
    """A table of pandas that shows itself with a search box and with headers that sort."""

    def __init__(self, shown: Any, rows: int) -> None:
        self.frame, self.rows = shown, rows

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        _bring_script()
        return {"text/plain": repr(self.frame), "text/html": _html(self.frame, self.rows)}


def table(thing: Any, rows: int = 10) -> NotebookTable:
    """The table of a value, or of a DataFrame, to sort and to search; `rows` are shown at once.

    Long texts are shortened to LONGEST_CELL characters. Raises InputError for a value without a table, and if
    pandas or itables is not installed.
    """
    if isinstance(thing, Tabular):
        shown = thing.to_frame()
    elif isinstance(thing, pandas().DataFrame):
        shown = thing
    else:
        raise InputError(
            f"{type(thing).__name__} has no table.",
            "Give a trace, evaluations, scores, their reliability, a comparison of fusions, survivals, "
            "missed questions, specimens, a sweep, a blame, a diagnosis or the findings of a lint.",
        )
    _itables()
    if rows < 1:
        raise InputError(f"A table of {rows} rows shows nothing.", "Give 1 or more.")
    return NotebookTable(shown, rows)


def _itables() -> Any:
    try:
        import itables
    except ImportError:
        raise InputError(
            "A table to sort and search needs itables, which is not installed.",
            install_extra("lab"),
        ) from None
    return itables


def _html(shown: Any, rows: int) -> str:
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
    return f'{STYLE}<div class="{NAME} {NO_FORMULAS}">{html}</div>'


def _cell(value: Any) -> Any:
    """A text without control characters, shortened; other values as they are."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


_carriers: set[str] = set()
"""The cell of this notebook whose output carries the script of DataTables."""


def _bring_script() -> None:
    """Shows the script of DataTables in the first cell with a table, and in each run of this cell."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is None or not hasattr(shell, "get_parent"):
        return  # no notebook
    here = str(shell.get_parent().get("metadata", {}).get("cellId", ""))
    if not _carriers or (here and here in _carriers):
        _carriers.add(here)
        _itables().init_notebook_mode(all_interactive=False, connected=False)
