"""The user's documents: folders and files, indexed in SQLite and kept up to date; queries go in, passages come out.

Begin with `library`.
"""
