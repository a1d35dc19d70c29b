"""Storage of runs: checkpoints, texts of pages, attachments, and leases.

Begin with `database`, which opens an SQLite file or a PostgreSQL database and returns its saver (of
checkpoints) and its store (of texts). `saver` has the code common to both databases, `pages` the
texts and notes of a thread, `serializer` the format of checkpoints and the types that they may
contain, `upgrade` the conversions of records that an earlier version stored. With a `lease`, only
one run at a time writes to a thread.
"""
