"""The interfaces of the product: Python API, command line, tool for other agents, exports, MCP and
LangGraph's server.

Owns everything between a caller and a graph: the compiled graphs, the options and settings that
users give, exit codes, confirmations, lists of runs, text and JSON for terminals, progress lines,
starting, resuming, reading and deleting runs, checking reports from elsewhere, reading the sources
of a finished report again, and heartbeats and the last packet of a stream.

Python API: `embed` (graphs, `research`), `stream` (packets), `as_tool`, `check_report`. Command
line: start with `cli`, where each command calls the function that implements it; `runs` starts,
resumes and reads stored runs, `check_file`, `audit` and `refresh` check a report against sources
that it names, stored texts, or sources that are read again, all by `source_check`; `progress` and
`output` format what the terminal shows, `loops` connects synchronous callers to the event loop.
`exports` writes reports as files (`formats` lists the formats), `mcp` serves other agents, `server`
extends LangGraph's server and contains the web page.
"""
