"""The rooms that do the work: records, run, models, reading, library, evidence, writing."""
