"""Holds statements against sources, without a model.

Given: the text of a report and the texts of its sources. Given back: a verdict and the best passage for each part.
Begin with `units` (what is checked), then `verification`; `figures` compares numbers, `score` says how well a passage
supports a statement, and `contradictions` finds statements that cannot both hold.
"""
