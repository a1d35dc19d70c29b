"""The tools of researchers and steps, and the search engines under them (`engines/`).

The tools are `web_search`, `internal_search`, `open_url`, and those that an app passes in (`passed`). The code around
them: `tool` (types), `offer` (what a role may call), `use` (runs a tool within limits), `results` (what the model
reads). Rules for what may leave the machine: `addresses` (pages that may be opened), `redaction` (of queries). Start
with `tool.py`, then `use.py`.
"""
