"""Tool calling for models that are weak at it, in one of three ways ("rungs"): API, JSON with a
schema, tagged text.

`rungs` converts a request to the form of a rung. `reply` parses the answer into thoughts (including
those leaked into the text), text and tool calls; `written_calls` finds calls in text, and `lenient`
repairs broken JSON. `core/models/abilities.py` finds out by trial calls which rung a model can use.
"""
