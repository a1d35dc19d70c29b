"""What models write and judge about text: forms, the report in parts, its language, its check and its correction.

Given: the state of a run and the texts of its sources. Given back: a draft, filled-in forms, and the report as it is
handed over. Begin with `write` for the draft and with `examination` for its check; `fill_in` asks for every form.
"""
