"""A command of one's own, `count`: how many chunks a memory has."""

import workbench as wb
from workbench.cli.app import IndexOptions
from workbench.cli.commands import Row
from workbench.cli.output import print_output


def count(where: IndexOptions):
    """Count the chunks of a memory."""
    with where.opened() as index:
        print_output(f"{index.size} chunks")


wb.register(Row("count", "Measure", "Count the chunks of a memory.", "count:count"))
