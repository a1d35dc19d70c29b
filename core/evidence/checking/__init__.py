"""Checks the parts of a report against its sources, without a model.

`units` cuts a report into the parts that are checked, `passages` finds what each rests on in a `source_text`, and
`verification` says which are quotes; read that first. `proof` holds what a model
says against the words that it names. `reaudit` compares a second check with the first. What a model
judges is in `core/writing/judging.py`.
"""
