"""Which process of pytest-xdist runs which files: as `--dist loadfile` has it, and on after one has died."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController


class FileScheduling(LoadFileScheduling):
    """Each file is run by one process, also after a process has ended in the middle of a test.

    A process holds its last test back until it knows the next one, or that there is none. pytest-xdist 3.8
    gives it one file at a time, and after such an end also files that have run already, in which there is
    no test to begin: all processes then hold a test back, and the run stands still for ever.
    """

    def _reschedule(self, node: WorkerController) -> None:
        """Gives a process files until it has three tests, and tells it when there are no more files."""
        while node in self.registered_collections and not node.shutting_down:
            if self.workqueue and self._pending_of(self.assigned_work[node]) > 2:
                break
            super()._reschedule(node)
