"""Words, tables, figures and widgets.

Each module registers its renderings with `show` when it is imported.
"""

from __future__ import annotations


def register_every_view() -> None:
    """Imports every module that registers a rendering.

    A search prints a trace, which needs none of them, so they are not imported with this package.
    """
    from workbench.views import (  # noqa: F401
        bench,
        diagnosis,
        fusion,
        indexes,
        missed,
        museum,
        paired,
        systems,
    )
    from workbench.views.cases import runs  # noqa: F401
    from workbench.views.measuring import (  # noqa: F401
        doubts,
        evaluations,
        exchange,
        findings,
        gate,
        reliability,
        sweep,
        triage,
    )
