"""What an agent calls: memory_search, memory_get and memory_explain, in Python and over MCP."""
