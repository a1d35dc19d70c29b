"""The interfaces of the product: Python API, command line, tool for other agents, exports, MCP and LangGraph's server.

Owns everything between a caller and a graph: options and settings given by users, exit codes, confirmations, tables
of runs, texts and JSON for terminals, progress lines, starting, resuming, reading, deleting and refreshing runs,
reading the sources of a finished report again, and the end of a stream (`stop`, heartbeats).

Python API: `embed` (graphs, `research`), `stream` (packets), `as_tool`, `check_report`. Command line: start with
`cli`, where each command calls the function that implements it; `runs` starts, resumes and reads stored runs,
`refresh` reads the sources of a finished report again, `progress` and `output` format what the terminal shows,
`loops` connects synchronous callers to the event loop. `exports` writes reports as files, `mcp` serves other
agents, `server` extends LangGraph's server and contains the web page.
"""
