"""Parsers that turn the bytes of files and pages into text, in child processes.

Public modules:

- `pool`: sends files to child processes. Start here.
- `records`: kinds of files, and the result of reading one.
- `worker`: the child process, which chooses the parser, and its messages.
- `decode`: text from bytes and from strings with tags, without invisible characters.

There is one private `_parse_<kind>` module for each format.
"""
