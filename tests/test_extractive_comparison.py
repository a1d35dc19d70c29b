"""What is compared is told in Chinese and Japanese, too, and a span of time is no comparison."""

from __future__ import annotations

import pytest
from extracting import finding_for, report_on

from deep_research.models.extractive.comparison import sides_of


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("比较奥斯陆和卑尔根的人口。", ("奥斯陆", "卑尔根")),
        ("奥斯陆与卑尔根有什么区别？", ("奥斯陆", "卑尔根")),
        ("奥斯陆和卑尔根哪个城市的人口更多？", ("奥斯陆", "卑尔根")),
        ("哪座塔更高，奥斯克塔还是维恩塔？", ("奥斯克塔", "维恩塔")),
        ("请比较中华人民共和国与日本。", ("中华人民共和国", "日本")),
        ("比较奥斯陆、卑尔根和特罗姆瑟的人口", ("奥斯陆", "卑尔根", "特罗姆瑟")),
        ("東京と大阪を比較してください。", ("東京", "大阪")),
        ("東京と大阪ではどちらが大きいですか。", ("東京", "大阪")),
        ("Between 1900 and 1910, which grew faster, Oslo or Bergen?", ("Oslo", "Bergen")),
        ("What differs between Windows 2000 and Windows 2003?", ("Windows 2000", "Windows 2003")),
        ("中华人民共和国的首都是哪里？", ()),
        ("东京和大阪在哪里？", ()),
        ("1900年和1910年有什么不同？", ()),
        ("Between 1900 and 1910, who was mayor?", ()),
        ("Between May 1900 and June 1910, who was mayor?", ()),
        ("Zwischen 1900 und 1910, wer war Bürgermeister?", ()),
        ("Entre 1900 et 1910, qui était maire ?", ()),
    ],
)
def test_the_sides_of_a_comparison_are_told(question: str, sides: tuple[str, ...]) -> None:
    assert sides_of(question) == sides


def test_a_chinese_comparison_is_answered_for_both_sides() -> None:
    question = "比较奥斯陆和卑尔根的人口。"
    documents = (("奥斯陆", "奥斯陆很大。奥斯陆人口七十万。"), ("卑尔根", "卑尔根多雨。卑尔根人口二十八万。"))
    finding = finding_for(question, *documents)
    answer = finding.split("\n\n")[0]
    assert "奥斯陆人口七十万。 [1]" in answer
    assert "卑尔根人口二十八万。 [2]" in answer
    assert report_on(question, finding).startswith(answer)
