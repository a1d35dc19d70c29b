"""The nodes of the researcher subgraph: decide, use tools, write the finding."""
