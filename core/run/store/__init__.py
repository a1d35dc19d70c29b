"""Where runs are kept: checkpoints, page texts, and the lease by which one process at a time writes a run.

Begin with `database`, which opens the SQLite file or the PostgreSQL database with its saver and store.
"""
