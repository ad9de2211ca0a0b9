"""Words, tables, figures and widgets.

Importing this package registers every rendering with `show`.
"""

from workbench.views import bench, cases, fusion, missed, museum, paired, systems

__all__ = ["bench", "cases", "fusion", "missed", "museum", "paired", "systems"]
