"""Whole runs against fake servers on this machine: what a run costs beyond what its model calls take.

Read `__main__` first: it starts the servers and one process a run, and makes the table.
"""
