"""Checks claims against sources, without a model.

Given: a claim, or the text of a report, and the texts of its sources. Given back: a verdict, a score and the best
passage for each claim. Read `score` first, whose `check_claim` checks one claim against one text. On top of it,
`units` cuts a report into claims, `verification` checks each against the sources it cites, and `reaudit` does so again
for a finished report. `contradictions` finds learnings that cannot both hold.
"""
