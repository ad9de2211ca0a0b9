"""Plain plotly figures, drawn from numbers that other modules compute."""
