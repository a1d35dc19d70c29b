"""Which lines are the heading of a list of sources, in the languages that reports are written in."""

from __future__ import annotations

import re
from typing import Literal

from ..labels import all_labels

Kind = Literal["sources", "further"]

_SOURCES = """
sources, source, references, reference, bibliography, citations, works cited, source list, reference list,
sources cited, sources used, sources consulted, references cited, list of sources, list of references, footnotes,
endnotes, source links, reference links, links, web sources, cited sources, urls
quellen, quelle, quellenverzeichnis, quellenangaben, quellenliste, quellennachweise, einzelnachweise, nachweise, belege,
literatur, literaturverzeichnis, referenzen, fußnoten
références, bibliographie, sources citées, ouvrages cités, liste des sources, sources consultées, notes et références
fuentes, referencias, bibliografía, fuentes consultadas, obras citadas, referencias bibliográficas
fonti, riferimenti, bibliografia, riferimenti bibliografici, fontes, referências, referências bibliográficas
bronnen, referenties, bronvermelding, bronnenlijst, literatuurlijst, literatuur
källor, referenser, källförteckning, kilder, referanser, referencer, kildeliste, lähteet, viitteet
źródła, przypisy, zdroje, použité zdroje, zdroje a literatura, kaynaklar, kaynakça, források
источники, список источников, литература, список литературы, ссылки, джерела
المصادر, المراجع, المصادر والمراجع, स्रोत, संदर्भ
参考文献, 参考资料, 参考来源, 资料来源, 信息来源, 数据来源, 来源, 引用来源, 引用文献, 引用, 引文, 文献来源,
来源列表, 参考链接, 文献列表, 参考书目, 参考, 出处, 参考文献列表, 參考文獻, 參考資料, 資料來源, 參考來源, 來源
出典, 引用元, 参照, 情報源, 参考資料, 参考文献一覧, 出典一覧, 参考リンク
출처, 참고문헌, 참고 문헌, 참고자료, 참고 자료
"""
_FURTHER = """
further reading, additional reading, additional sources, uncited sources, weiterführende quellen, weitere quellen,
weiterführende links, lectures complémentaires, otras fuentes, 扩展阅读, 更多阅读, 其他来源, 延伸閱讀
"""
_QUALIFIERS = """
selected key main primary all full cited numbered complete important core wichtige verwendete alle principales
principali 主要 全部 核心 中文 英文 重要
"""


def _names(lists: str) -> frozenset[str]:
    return frozenset(" ".join(name.split()) for name in lists.replace("\n", ",").split(",") if name.strip())


_NAMES: dict[Kind, frozenset[str]] = {
    "sources": _names(_SOURCES),
    "further": _names(_FURTHER) | {words.further.lower() for words in all_labels().values()},
}
_NAME_BEGIN = tuple(_QUALIFIERS.split())
_LONGEST = 80
_MARKUP = re.compile(r"^\s{0,3}(?:(?P<level>#{1,6})\s+|(?P<bold>\*\*|__)(?=\S))?(?P<words>.*?)[\s#*_]*$")
_NUMBERING = re.compile(
    r"^(?:[（(]?(?:\d{1,2}(?:\.\d{1,2})*|[一二三四五六七八九十]{1,3}|[ivx]{1,5})[）)]?(?:[.、．:：]\s*|\s+))",
    re.IGNORECASE,
)
_REMARK = re.compile(r"\s*[（(][^（）()]*[）)]$")
_AND = re.compile(r"\s*&\s*|\s+(?:and|und|et|y|e|en|och|og|i|и)\s+|[与和及]")


def heading_level(line: str) -> int:
    """How deep a heading is, from 1 to 6; 7 for a line in bold; 0 for any other line."""
    found = _MARKUP.match(line) if len(line) <= _LONGEST else None
    if not found or not found["words"]:
        return 0
    if found["level"]:
        return len(found["level"])
    return 7 if found["bold"] and line.strip().rstrip(":：").endswith(found["bold"]) else 0


def list_named(line: str) -> Kind | None:
    """What kind of list a line announces, if it names one and nothing else; it may be a heading, in bold or plain."""
    found = _MARKUP.match(line) if len(line) <= _LONGEST else None
    if not found or not found["words"]:
        return None
    words = _NUMBERING.sub("", re.sub(r"^\W+(?=\w)", "", found["words"]))
    words = _REMARK.sub("", re.sub(r"[\s:：*_]+$", "", words)).casefold()
    for kind, names in _NAMES.items():
        if _is_name(words, names) or all(_is_name(part, names) for part in _AND.split(words)):
            return kind
    return None


def _is_name(words: str, names: frozenset[str]) -> bool:
    words = " ".join(words.split())
    begin = next((begin for begin in _NAME_BEGIN if words.startswith(begin)), "")
    return words in names or (bool(begin) and words.removeprefix(begin).strip() in names)
