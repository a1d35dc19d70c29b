"""Bytes of files and pages to text, in child processes; one module for each format.

Begin with `pool`, which parses in children, and `worker`, which chooses the parser inside one.
"""
