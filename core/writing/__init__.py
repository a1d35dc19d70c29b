"""Everything that models write or judge: forms, the report, its language, its check.

Owns what several nodes share: one turn of a node (`turn`: its settings, packets and costs),
requests to a model, forms and filling them in, the facts for the extractive model, a step's
knowledge, result and last packets, the pause for the user and their answer, the report from draft
to delivery (input, continuation, check, corrections, packets, audit), the language that is written,
and what earlier runs cost.

Start with `write` for the draft, `examination` for its check, and `fill_in` for forms.
"""
