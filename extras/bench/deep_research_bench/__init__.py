"""How fast it is and what it takes, measured through the public face; figures stand in `docs/performance.md`.

`wire` measures whole runs against fake servers, `index` the index of documents.
"""
