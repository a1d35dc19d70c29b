"""What a run sends while it works: typed packets on LangGraph's custom stream, their log, traces.

Begin with `packets` (all types), then `log` (`emitter`, and the stored packets) and `call` (packets
of model calls, tools and steps). `tracing` connects LangSmith and OpenTelemetry.
"""
