"""Foundations of a run that every later package uses: settings, limits, errors, spending, conversation, storage.

Owns `Context` and how settings are read, `Limits`, all exceptions, the clock and deadlines, the next action after a
model's message, plans as text and their schedule, message histories (tool calls and results, shortening to a
window), the user's messages, spending, concurrency, tracing, logs, plugins, packets, and the databases of runs.

Begin with `context` (settings) and `limits` (numbers); `decisions` turns a model's tool calls into the next action;
`errors` lists all exceptions as a tree. `branches` defines the states of researchers and steps, `transcripts`
handles tool calls and message histories, `schedule` the steps of a typed plan. Packets are in `events/`, databases
in `store/`.
"""
