"""What a notebook shows of a value: HTML with the words and numbers of `workbench.show`, for both themes."""
