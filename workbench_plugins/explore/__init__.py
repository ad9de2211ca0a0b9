"""One page on your own notes: the question explorer, chunks, the microscope."""
