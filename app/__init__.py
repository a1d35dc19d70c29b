"""The interfaces of the product: Python API, command line, tool for other agents, exports, MCP and
LangGraph's server.

Owns everything between a caller and a graph: the compiled graphs, the options and settings that
users give, exit codes, confirmations, lists of runs, text and JSON for terminals, progress lines,
starting, resuming, reading and deleting runs, checking reports from elsewhere, reading the sources
of a finished report again, and heartbeats and the last packet of a stream.

Public modules:

- `cli`: the command line; each command calls the function that implements it. Start here.
- `commands`: the commands that research or write: `ask`, `resume`, `edit`, `exclude` and `demo`,
  which `_research` carries out.
- `embed`: the graphs, `build_graph` and `research`.
- `runs`: starts, resumes and reads the stored runs of a folder.
- `stream`: the packets of a run.
- `versions`: reads a version of a thread's report, or puts one back, for apps.
- `as_tool`: research as a tool of a LangChain agent.
- `check_file`: checks reports from elsewhere.
- `output`: stored runs as text and JSON, which `exports` writes too.
- `mcp_server`: the MCP server, for other agents: its tools, and the access to a caller's runs that
  the command `mcp` and LangGraph's server implement.
- `words`: the wording of counts and times, and the names of strategies.

Rooms below: `exports` writes reports as files, `server` extends LangGraph's server and has the web
page.
"""
