"""The nodes of the step subgraph, for one step of a typed plan: search and study, or analyze."""
