"""Measures how fast deep-research is and what it takes; figures stand in `docs/contributing/performance.md`.

`wire` measures whole runs on fake servers, `index` the index of documents, `team` several server processes.
"""
