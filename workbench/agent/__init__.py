"""The tools of an agent: memory_search, memory_get and memory_explain, in Python and over MCP."""
