"""Words, tables, figures and widgets.

Importing this package registers every rendering with `show`.
"""

from workbench.views import bench, fusion, museum, systems

__all__ = ["bench", "fusion", "museum", "systems"]
