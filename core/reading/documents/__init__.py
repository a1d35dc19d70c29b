"""Parsers that turn the bytes of files and pages into text, in child processes.

There is one `parse_<kind>` module per format. `standing` reads from a parsed text whether the
document is a draft, superseded, or not yet in force.

Start with `pool`, which sends files to child processes, and `worker`, which chooses the parser in
the child.
"""
