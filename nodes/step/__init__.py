"""The nodes of one step of a typed plan."""
