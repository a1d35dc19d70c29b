"""What a run sends while it works: typed packets on LangGraph's custom stream, their log, traces.

Public modules: `packets` (all types), `blocks` (makes the packets of a plan, a step, a researcher,
a tool call or a report), `call` (emits those of model calls), `log` (emits packets, and stores and
reads them) and `tracing` (LangSmith and OpenTelemetry). Begin with `packets`, then `blocks`.
"""
