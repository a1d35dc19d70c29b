"""What a run has learned and noticed: learnings, observations, confidence, what could not be read, notes.

Begin with `observations`.
"""
