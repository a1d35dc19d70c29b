"""Packages between the state and the nodes; each imports only those listed before it.

`records` (data), `evidence` (citations, proof), `run` (settings, limits, storage), `models`,
`reading` (web pages, documents), `library` (the user's documents), `writing` (the report).
"""
