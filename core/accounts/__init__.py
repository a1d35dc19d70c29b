"""What a run has cost, kept outside its state: costs of nodes that failed or were stopped, of the
server's users, and of finished runs.

Public module: `ledger`. The totals of a run are in `core/records/research.py`, its budget in
`nodes/_budget.py`.
"""
