"""Words, tables, figures and widgets.

Importing this package registers every rendering with `show`.
"""

from workbench.views import bench, diagnosis, fusion, indexes, missed, museum, paired, systems
from workbench.views.cases import runs as cases
from workbench.views.measuring import exchange, gate, sweep, triage

__all__ = [
    "bench",
    "cases",
    "diagnosis",
    "exchange",
    "fusion",
    "gate",
    "indexes",
    "missed",
    "museum",
    "paired",
    "sweep",
    "systems",
    "triage",
]
