"""The MCP server, which offers research to other agents.

Start with `tools`, which defines the server and its tools. `command` runs it over standard input
and output (`deep-research mcp`), `http` serves it at `/mcp` on LangGraph's server; each implements
access to a caller's runs.
"""
