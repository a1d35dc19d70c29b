"""What a run sends to its clients while it works: typed packets on LangGraph's custom stream, and
their log.

Begin with `packets` (all types), then `log` (`emitter`, and the stored packets) and `call` (packets
of model calls, tools and steps).
"""
