"""Values as tables of pandas, and these tables in a notebook: sortable and searchable."""
