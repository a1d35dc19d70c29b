"""The nodes, one verb a file."""
