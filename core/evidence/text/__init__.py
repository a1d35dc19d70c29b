"""General text functions: splitting, stemming and comparing.

Public modules:

- `words`: splits text in any script into words, stems, names and dates; loads the word tables
  (`words.toml`).
- `numbers`: reads numbers however they are written, with sign, scale and unit.
- `sentences`: splits Markdown into sections, paragraphs and sentences with their citations.
- `similarity`: finds near-duplicates and endless repetition, and groups lists.
- `language`: detects offline in which language a text is written.

Start with `words`.
"""
