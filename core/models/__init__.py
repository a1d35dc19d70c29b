"""Calling models: everything between a role of a run (such as the planner) and the answer from its
chat model.

Start with `ask`: `ask_model` takes a `Request` and returns a `Reply`. A call passes through three
chat models, each of which wraps the next: the one that calls tools with any model (`_compatible`),
the role's model, which waits, retries and pays (`_role_model`), and a provider's class or our own
client for OpenAI-compatible servers (`_openai_chat`).

`_compatible` calls tools in one of three ways ("rungs"): through the API, as JSON with a schema, or
as tagged text. Trial calls (`_trial`) find out which way a model can use, and `models.json` keeps
the result (`_known_abilities`). `_rungs` converts a request to the form of a rung, and `_reply`
parses the answer.

Public modules:

- `ask`: calls a role's model for one answer, says what a content filter has taken out of tool
  results, and removes the thoughts from a text of a model
- `request`: what to ask, with the run's data from which the prompt was built
- `resolve`: each role's model, its window and price, and the settings of the current run
- `abilities`: what a role's model can do: trials, and the result in words
"""
