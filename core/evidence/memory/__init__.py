"""What a run has learned and noticed.

Given: findings and observations. Given back: views of them (insights, open gaps, contradictions), the confidence in
what was learned, and the notes under a report. Read `observations` first, then `learned`.
"""
