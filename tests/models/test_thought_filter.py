"""Thoughts, and calls written as text, never reach a reader, however the stream is chunked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.models._thoughts import Piece, ThoughtFilter, split_thoughts
from deep_research.core.models._written_calls import CallGuard

PARTS = (
    *(
        "<think>",
        "</think>",
        "<thinking>",
        "</thinking>",
        "</reasoning>",
        "[THINK]",
        "[/THINK]",
        "◁think▷",
        "◁/think▷",
    ),
    *(
        "<|channel|>analysis<|message|>",
        "<|channel|>final<|message|>",
        "<|end|>",
        "<|start|>assistant",
        "<|return|>",
    ),
    *(
        "<tool_call>",
        "</tool_call>",
        "<tool name=",
        "</tool>",
        "[TOOL_CALLS]",
        '{"name": "x"}',
        "<|python_tag|>",
    ),
    *("`", "``", "```", "```\n", "~~~\n", "\n", "\n\n", " ", "word", "two words"),
    *("<", "<th", "a < b", "[1]", ".", "|>"),
)
TEXTS = st.lists(st.sampled_from(PARTS), max_size=14).map("".join)


def filtered(reader: ThoughtFilter, *pieces: str) -> tuple[str, str]:
    """The text and the thought in the pieces of a stream."""
    parts = [part for piece in pieces for part in reader.feed(piece)] + reader.finish()
    return words(parts, "text"), words(parts, "thought")


def words(parts: list[Piece], kind: str) -> str:
    return "".join(part.words for part in parts if part.kind == kind)


@pytest.mark.fault(8)
@pytest.mark.parametrize(
    ("text", "visible", "thought"),
    [
        ("<think>hm</think>Yes.", "Yes.", "hm"),
        ("<think>\nhm\n</think>\n\nYes.", "Yes.", "hm\n"),
        ("<think>\n\n</think>\n\nYes.", "Yes.", ""),
        ("<Think>hm [3].</THINK>Yes.", "Yes.", "hm [3]."),
        ("<thinking>hm</think>Yes.", "Yes.", "hm"),
        *(
            (f"<{tag}>hm</{tag}>Yes.", "Yes.", "hm")
            for tag in ("reasoning", "seed:think", "ant:reasoning")
        ),
        ("<think>hm</think>\n<answer>\nYes.\n</answer>\n", "Yes.\n\n", "hm"),
        ("<|channel>thought\nhm<channel|>Yes.", "Yes.", "hm"),
        ("Yes.</s><|eot_id|>", "Yes.", ""),
        ("Yes.<end_of_turn>\n<eos>", "Yes.\n", ""),
        ("[THINK]hm[/THINK]Yes.", "Yes.", "hm"),
        ("◁think▷hm◁/think▷Yes.", "Yes.", "hm"),
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
            "Yes.",
            "hm",
        ),
        (
            "<|start|>assistant<|channel|>analysis<|message|>hm<|channel|>final<|message|>Yes.<|return|>",
            "Yes.",
            "hm",
        ),
        ("<think>one</think>\n<think>two</think>\nYes.", "Yes.", "one\n\ntwo"),
        ("Yes.\n<think>hm</think>\nNo.", "Yes.\n\nNo.", "hm"),
        ("Yes,<think>hm</think>no.", "Yes,no.", "hm"),
        ("<think>`</think>`Yes`.", "`Yes`.", "`"),
        ("<think>one</think></think>Yes.", "Yes.", "one"),
        ("<think>a [/THINK] b</think>Yes.", "Yes.", "a [/THINK] b"),
        # A thought that never ends leaves an empty answer.
        *(
            (opened, "", "hm")
            for opened in ("<think>hm", "<|channel|>analysis<|message|>hm", "[THINK]hm")
        ),
        ("\n<think>hm", "\n", "hm"),
    ],
)
def test_thoughts_are_separated_from_text(text: str, visible: str, thought: str) -> None:
    assert filtered(ThoughtFilter(), text) == (visible, thought)
    assert filtered(ThoughtFilter(), *text) == (visible, thought)


@pytest.mark.parametrize(
    "text",
    [
        "The tag `<think>` opens it and `</think>` closes it.",
        "Inline ``a ` <think> b`` code.",
        "```xml\n<think>hm</think>\n```\nDone.",
        "~~~\n<think>hm</think>\n~~~\nDone.",
        "```\n<think>never closed\n",
        "The quotes ``so'' and the tag `<think>` on one line.\n",
        "a < b, x <thin and [1] stay.",
        "The model puts a <think> tag first and says more.",
        "It is cut at the </think> tag, they say.",
        "<thinker>no tag</thinker>",
        "plain\n\nwords\n",
        "",
    ],
)
def test_what_only_looks_like_a_thought_is_text(text: str) -> None:
    for reader in (
        ThoughtFilter(),
        ThoughtFilter(begins_inside=True),
        ThoughtFilter(hides_calls=True),
    ):
        assert filtered(reader, *text) == (text, "")


@given(st.data(), st.booleans(), st.booleans())
def test_the_chunks_of_a_stream_change_no_result(
    data: st.DataObject, begins_inside: bool, hides_calls: bool
) -> None:
    settings = {"begins_inside": begins_inside, "hides_calls": hides_calls}
    text = data.draw(TEXTS)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole = filtered(ThoughtFilter(**settings), text)
    assert filtered(ThoughtFilter(**settings), *pieces) == whole
    assert filtered(ThoughtFilter(**settings), *text) == whole


@given(st.text(alphabet="ab <>`\n[]/|~", max_size=60))
def test_a_text_without_tags_flows_through_unchanged(text: str) -> None:
    assert filtered(ThoughtFilter(), *text) == (text, "")


@pytest.mark.parametrize(
    ("text", "visible", "thought"),
    [
        ("hm, let me see.\n</think>\n\nYes.", "Yes.", "hm, let me see."),
        (
            "hm `x` and\n```\n</think>\n```\nmore\n</think>Yes.",
            "Yes.",
            "hm `x` and\n```\n</think>\n```\nmore",
        ),
        ("hm[/THINK]Yes.", "Yes.", "hm"),
        ("hm</seed:think>Yes.", "Yes.", "hm"),
        ("analysisLet me see.assistantfinalYes.", "Yes.", "analysisLet me see."),
        ("hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.", "Yes.", "hm"),
        ("hm</think>Yes.<think>more</think>", "Yes.", "hm\n\nmore"),
        ("</think>Yes.", "Yes.", ""),
        ("Yes, and no thought.", "Yes, and no thought.", ""),
        ("Yes.<|end|>", "Yes.", ""),
    ],
)
def test_a_text_that_begins_within_a_thought_is_emitted_without_it(
    text: str, visible: str, thought: str
) -> None:
    assert filtered(ThoughtFilter(begins_inside=True), *text) == (visible, thought)
    assert split_thoughts(text)[:2] == (visible, thought)
    assert split_thoughts(text).began_inside == (thought != "")


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ('One.\n<tool_call>{"name": "x"}</tool_call>\nTwo.', "One.\n\nTwo."),
        ('One.<tool_call>{"name": "x"}</tool_call> Two.', "One. Two."),
        ('One.\n<tool_call>\n{"name": "x"', "One.\n"),
        ("A `<|python_tag|>` is a token.", "A `<|python_tag|>` is a token."),
        ("One. <function=search><parameter=q>x</parameter></function>", "One. "),
        ("<function_calls><invoke name='x'></invoke></function_calls>One.", "One."),
        ('<tool name="search">{"q": 1}</tool>\nOne.', "One."),
        ('One.[TOOL_CALLS][{"name": "x"}]', "One."),
        ('One.<|python_tag|>{"name": "x"}', "One."),
        (
            "<|tool_calls_section_begin|><|tool_call_begin|>x<|tool_call_end|><|tool_calls_section_end|>One.",
            "One.",
        ),
        ("<|channel|>commentary to=functions.x<|message|>{}<|call|>One.", "One."),
        (
            "A `<tool_call>` is a tag, and a <tool_call> too.",
            "A `<tool_call>` is a tag, and a <tool_call> too.",
        ),
        ("```\n<tool_call>{}</tool_call>\n```\n", "```\n<tool_call>{}</tool_call>\n```\n"),
    ],
)
def test_calls_written_as_text_never_reach_a_report(text: str, visible: str) -> None:
    assert filtered(ThoughtFilter(hides_calls=True), text) == (visible, "")
    assert filtered(ThoughtFilter(hides_calls=True), *text) == (visible, "")
    assert filtered(ThoughtFilter(), text)[0] != visible or visible == text


GUARDED = [
    '{"name": "internal_search", "arguments": {"queries": ["light"]}}',
    '[{"tool": "open_url", "urls": ["x"]}]',
    '```json\n{"calls": [{"name": "web_search", "arguments": {}}]}\n```',
    '{"name": "look", "arguments": {"at": "x"}}',
    'internal_search(queries=["light"])',
    '```tool_code\nprint(default_api.web_search(queries=["light"]))\n```',
    *("generate_report", "`generate_report()`", "rewrite_sentences(sentences=[])"),
]
PROSE = [
    *(
        "[1] says so.",
        "The light was lit in 1844 [1].",
        "# Light\n",
        "w",
        "[",
        "web",
        "",
        "\n\nLight.",
    ),
    *('{"name": "Ada Moran", "kept": [1901, 1932]}', "```py\nprint(1)\n```"),
    *("`web_search` is a tool.", "research_agents differ."),
]


@pytest.mark.parametrize(
    ("text", "is_call"), [*((t, True) for t in GUARDED), *((t, False) for t in PROSE)]
)
def test_an_answer_in_prose_that_begins_as_a_call_is_withheld(text: str, is_call: bool) -> None:
    for pieces in ([text], [*text]):
        guard = CallGuard()
        assert "".join([*map(guard.feed, pieces), guard.finish()]) == ("" if is_call else text)
