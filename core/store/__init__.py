"""Storage of runs: checkpoints, texts of pages, attachments, and leases.

Public modules:

- `database`: opens an SQLite file or a PostgreSQL database, with its saver (of checkpoints) and
  its store (of texts). Start here.
- `location`: which file or database it is, for whoever only asks it something, without LangGraph.
- `pages`: the texts, finished reports, notes and attached files of a thread, and who is told of
  changes.

With a lease (`_lease`), only one run at a time writes to a thread.
"""
