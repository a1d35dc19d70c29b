"""What a run tells its clients while it works: typed packets, emitted on LangGraph's custom stream.

Begin with `packets`, then `emit`.
"""
