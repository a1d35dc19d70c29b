"""Everything that models write or judge: forms, the report, its language, its check.

Owns what several nodes share: forms and filling them in, the facts for the extractive model, the
report from draft to delivery (input, continuation, check, corrections, packets, audit), its notes
for the reader (`notes`), the language that is written, and what earlier runs cost.

Start with `write` for the draft, `examination` for its check, and `fill_in` for forms.
"""
