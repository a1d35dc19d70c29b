"""A chat model that calls tools with any other one, in one of three ways ("rungs"): through its
API, as JSON with a schema, or as tagged text.

Trial calls (`_trial`) find out which way a model can use, and `models.json` keeps the result
(`_memory`). `_rungs` converts a request to the form of a rung, and `_reply` parses the answer.

Public modules:

- `chat`: the chat model; read it first
- `thoughts`: separates the thoughts that models write into their text from the answer
"""
