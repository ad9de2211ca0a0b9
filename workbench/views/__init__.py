"""Words, tables, figures and widgets.

Importing this package registers every rendering with `show`.
"""

from workbench.views import bench, diagnosis, fusion, indexes, missed, museum, paired, systems
from workbench.views.cases import runs as cases
from workbench.views.measuring import sweep

__all__ = [
    "bench",
    "cases",
    "diagnosis",
    "fusion",
    "indexes",
    "missed",
    "museum",
    "paired",
    "sweep",
    "systems",
]
