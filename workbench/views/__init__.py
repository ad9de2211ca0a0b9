"""Words, tables, figures and widgets.

Importing this package registers every rendering with `show`.
"""

from workbench.views import bench, cases, fusion, museum, systems

__all__ = ["bench", "cases", "fusion", "museum", "systems"]
