"""Tables whose rows are researched: their design, their values, and what becomes of their rows.

Owns what is decided about a table without a model. It neither asks models nor searches; the nodes
do (`nodes/plan_table.py` to `nodes/write_table.py`).

Public modules; start with `design`.

- `design`: what a row is and which columns it has, as the text of the plan says it
- `values`: values by the kind of their column, as text and in their types
- `rows`: merges candidates to rows, fills cells, and writes the table
- `report_tables`: reads the tables of a finished report, with values in their types
"""
