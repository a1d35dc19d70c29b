"""Measure tables whose rows are researched: `python -m deep_research_evaluation tables`.

`facts` has the records of a request and its gold table, `web_requests` and `folder_requests` make
the twelve requests from a seed. `web` serves the pages, `folders` writes the documents, `model`
plays all roles of a run, `score` compares the table of the report with the gold, and `run` does all
of it.
"""
