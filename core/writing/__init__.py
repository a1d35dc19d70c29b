"""What models write and judge for a run: forms, the report, its language, its check.

Owns what several nodes share: filling in forms, and the report from draft to delivery (input,
continuation, check, corrections, packets, audit).

Public modules; read `write` first for the draft, then `examination` for its check:

- `write`: has models write the report and other prose, and continues what is cut off
- `basis`: what a report is written from, as models read it, with the outline that a user gives
- `examination`: checks a draft against its sources, and has it corrected
- `blocks`: divides a report into numbered blocks
- `report`: streams and delivers a report, and makes its audit
- `versions`: the versions of a thread's report
- `notes`: what the reader is told below a report: what is missing, and what went wrong
- `language`: decides the language of the report, and has other sections rewritten
- `calculating`: has models calculate within a call, and the form of an analysis, which may do so
- `forms`: the base of forms, and having models fill them in
"""
