"""Checks a report's statements against its sources, without a model.

`units` splits a report into checked units, `source_text` prepares source texts for comparison, and `verification`
finds the best passage for each unit and accepts quotes. `proof` verifies a model's judgement using the source
words and numbers that it cites, and `reaudit` compares a second check with the first. Start with `verification`; the
model's judging is in `core/writing/judging.py`.
"""
