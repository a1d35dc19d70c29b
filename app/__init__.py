"""The ways in: the command line, embedding, the tool for other agents, and the server.

Given settings and a question, they run a graph and return its report, or its packets while it works. Apps start in
`embed.py` and `stream.py`, the command line in `cli.py` (each command names the function that carries it out), the
server, as `langgraph.json` names its parts, in `server.py`, `guard.py` and `auth.py`.
"""
