"""The tools of researchers and steps, and the search engines under them (`engines/`).

Owns searching, opening and reading documents whole as a model or node asks for it: arguments and
results of tools, when documents are read instead of searched, the format of results for models and
reading it back, engines and their failures (keys, waits, quotas, HTTP status), objects and MCP
servers that an app passes in, open copies of papers, which addresses a thread may open and the
results of opening them, and which words may leave the machine.

The tools are `web_search`, `internal_search`, `open_url`, and those that an app passes in
(`passed`). The code around them: `tool` (types), `offer` (what a role may call), `use` (runs a tool
within limits), `results` (what the model reads), `disputes` (the form for contradictions). Rules
for what may leave the machine: `addresses` (pages that may be opened), `redaction` (of queries).
Start with `tool.py`, then `use.py`.
"""
