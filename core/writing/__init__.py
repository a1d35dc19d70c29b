"""Everything that models write or judge: forms, the report, its language, grades, check and corrections.

Also here: shared code of nodes around a model call (`turn`), the user's answers to a paused run, the report's packets,
parsing of the language setting, the facts for the extractive model, the results of steps, and the cost estimate from
earlier runs. Start with `write` for the draft, `examination` for its check, and `fill_in` for forms.
"""
