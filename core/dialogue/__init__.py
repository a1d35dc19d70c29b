"""The conversation with the user and the models.

Public modules: `conversation` (the user's messages: kinds, the question, what models are shown),
`transcripts` (tool calls and their results, how answers end, what fits into a window) and
`plan_text` (reads and writes a plan as text). Begin with `conversation`.
"""
