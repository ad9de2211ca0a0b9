"""Makes HTML pages of the notebooks, and takes the README's pictures from these pages."""
