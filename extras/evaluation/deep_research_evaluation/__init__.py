"""Measure how well questions over a folder of documents are answered: `python -m
deep_research_evaluation`.

Given a corpus and questions whose answers are known, it returns a report for each question, its
figures, and their summary beside plain BM25. It uses the public names of `deep_research`, as a user
would. Read `closed_corpus.py` first.
"""
