"""Measures the speed and resources of deep-research; the figures are in
`docs/contributing/performance.md`.

`wire` measures whole runs on fake servers, `index` the index of documents, `team` several server
processes.
"""
