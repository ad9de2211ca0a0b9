"""Words, tables, figures and widgets.

Importing the room tells `show` of every view that it has.
"""

from workbench.views import bench, fusion, museum, systems

__all__ = ["bench", "fusion", "museum", "systems"]
