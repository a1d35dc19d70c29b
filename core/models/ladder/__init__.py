"""Three ways ("rungs") to offer tools to a model, for models that are weak at calling them.

`rungs` converts a request to one of these forms. `reply` parses the answer into thoughts (including leaked ones), text
and tool calls; `written_calls` finds calls in text, and `lenient` repairs them. `probe` tests which form works.
"""
