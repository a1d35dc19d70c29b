"""The nodes of the step subgraph, which works on one step of a typed plan: search and study, or analyze."""
