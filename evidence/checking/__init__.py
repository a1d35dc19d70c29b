"""Which parts of a report are checked, and what of the sources they are held against; begin with `units`."""
