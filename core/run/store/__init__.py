"""Storage of runs: checkpoints, page texts, attachments, and leases, so that only one process writes to a run.

Begin with `database`, which opens an SQLite file or a PostgreSQL database with its saver and store. `saver` is
the code common to both, `pages` the texts and notes of a thread, `serializer` the format of checkpoints
and the types that they may contain.
"""
