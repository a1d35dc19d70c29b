"""What models judge and correct of a report: the verdict on each part, and the correction of what is wrong.

Given: a draft and the texts of its sources. Given back: the report as it may be handed over, with what was found about
each part. Begin with `examination`.
"""
