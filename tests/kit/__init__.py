"""The test kit: fakes at the edges of the system, drivers of whole runs, and readers of their
results.

Fakes, each of which speaks its real format:

- `models`: a scripted chat model (`ScriptedChatModel`, `call`, `calls`), and a verifier that compares figures
- `openai_server`: an OpenAI-compatible server; `say`, `use` and `fail` make its replies
- `web`, `engines`: a small web, search engines, directories of papers, a proxy
- `mcp`: MCP servers, and a client
- `files`: office files, PDF, scans, folders of documents

Drivers:

- `runs`: `lab(tmp_path, researcher=[...])` is a thread whose models follow scripts; `HandClock` is a
  clock that a test moves
- `planned`: the same for the planned strategy, with a rule for each form
- `wire`: a whole run over real sockets
- `commands`, `server`: the command line and LangGraph's server in processes of their own
- `page`: the page of a server, in a browser
- `model_calls`: single calls of a model

Readers: `packets` checks the order and the sums of a run's packets, `reports` reads reports and
exports, `docs` the pages of docs/.
"""
