"""The nodes of the step subgraph, for one step of a typed plan.

All are public: `choose_queries`, `search` and `study` in turn, or `analyze` alone, then `evaluate`.
"""
