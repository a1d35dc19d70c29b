"""The MCP server, which offers research to other agents.

Public module: `research_server` defines the server, its tools, and the access to a caller's runs
that the command `mcp` and LangGraph's server implement.
"""
