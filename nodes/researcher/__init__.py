"""The nodes of one researcher."""
