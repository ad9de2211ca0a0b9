"""What an index is kept in: the contract, and SQLite."""
