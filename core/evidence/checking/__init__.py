"""Checks a report's statements against its sources, without a model.

Public modules:

- `units`: splits a report into the units that are checked one by one.
- `source_text`: the text of a source, prepared for comparison, and its windows of a few lines.
- `verification`: finds the best passage of a source for each unit, and accepts quotes; finds which
  of several sources states what, for statements that cite none or a wrong one.
- `proof`: verifies a model's judgement by the words that it quotes and the premises of its figures.
- `calculator`: calculates what models hand in, keeps it as records that texts cite, and has their
  figures follow what has changed.

Start with `units`; the model's judging is in `core/writing/_judging.py`.
"""
