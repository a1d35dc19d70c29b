"""Measures whole runs against local fake servers: what a run costs beyond its model calls.

Read `__main__` first: it starts the servers and a process per run, and prints the table.
"""
