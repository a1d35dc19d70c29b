"""The nodes of the researcher subgraph, which works on one task: decide, use tools, write the finding."""
