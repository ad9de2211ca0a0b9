"""Words, tables, figures and widgets.

Importing this package registers every rendering with `show`.
"""

from workbench.views import bench, blame, cases, diagnosis, fusion, missed, museum, paired, systems

__all__ = ["bench", "blame", "cases", "diagnosis", "fusion", "missed", "museum", "paired", "systems"]
