"""Layouts of PDFs whose text and tables are known."""
