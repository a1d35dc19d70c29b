"""Foundations of a run: settings, limits, errors, spending, conversation, tracing, logs, concurrency.

Begin with `context` (settings) and `limits` (numbers); `decisions` turns a model's tool calls into the next
action; `errors` lists all exceptions as a tree. `branches` defines the states of researchers and steps, `transcripts`
handles tool calls and message histories, `schedule` the steps of a typed plan. Packets are in `events/`, databases in
`store/`.
"""
