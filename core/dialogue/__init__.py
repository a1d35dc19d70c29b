"""The conversation with the user and the models, and what follows from it.

Begin with `conversation` (the user's messages) and `transcripts` (tool calls, their results, and
what fits into a window). `decisions` says what follows from a model's tool calls, `plan_text` reads
and writes a plan as text, `schedule` says which steps of a typed plan are due.
"""
