"""Languages of texts: detected by common words; documents in many languages are found by inflected
forms."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.files import Papers
from kit.runs import written

from deep_research.core.evidence.text.language import (
    language_beyond_doubt,
    language_of_question,
    language_of_text,
)
from deep_research.core.evidence.text.words import sought_words, words_and_pieces
from deep_research.core.library._candidates import terms_of
from deep_research.core.library._index_file import stemmed_in
from deep_research.core.library._terms import (
    LANGUAGE_SEPARATOR,
    forms_of,
    index_terms,
    unaccented_words,
)
from deep_research.core.library.library import Library

TEXTS = {
    "en": "The fishermen were counting their boats. The lighthouses of the coast are older than the harbours.",
    "de": "Die Häuser am Hafen wurden von den Kaufleuten gebaut. Sie sind nicht so alt wie die Türme der Kirche.",
    "nl": "De oude bruggen van de stad werden in die jaren gebouwd. Het water is niet diep, en de schepen zijn klein.",
    "fr": "Les anciens moulins de la vallée étaient dans les mains des moines. Le meunier est parti avec ses chevaux.",
    "sv": "Båtarna seglade från öarna och kom inte till hamnen. Det var en kall vinter, och fiskarna blev få.",
    "no": "Båtene seilte ikke fra øyene den vinteren. Det var mange møller i byen, og de ble bygget av kjøpmennene.",
    "fi": "Veneiden omistajat eivät olleet kaupungissa, mutta he tulivat sinne. Se oli kylmä vuosi, ja myllyt olivat.",
    "ru": "Корабли не приходили в гавань зимой. Старые мельницы стояли на берегу реки, и их было много.",
    "th": "เรือประมงออกจากท่าเรือในฤดูหนาว ชาวเมืองสร้างสะพานข้ามแม่น้ำ",
    "my": "လှေများသည် ဆိပ်ကမ်းမှ ထွက်ခွာသည်။ မြို့သားများသည် တံတားဆောက်သည်။",
    "zh": "渔船冬天离开港口。市民在河上修建了一座桥。",
    "ja": "漁船は冬に港を出る。市民は川に橋を架けた。猫もいた。",
    "ko": "어선은 겨울에 항구를 떠난다. 시민들은 강에 다리를 놓았다.",
    "hi": "मछली की नावें सर्दियों में बंदरगाह छोड़ती हैं। नगर के लोगों ने नदी पर पुल बनाया।",
}
OTHER_FORMS = {
    "en": "fisherman boat, an old lighthouse",
    "de": "Haus des Kaufmanns, gebaute Häusern",
    "nl": "brug, gebouwde bruggen",
    "fr": "moulin ancien",
    "sv": "båt segla",
    "no": "mølle på øyene",
    "fi": "veneet",
    "ru": "корабль в гавани, мельница",
    "th": "สะพาน",
    "my": "တံတား",
    "zh": "桥",
    "ja": "猫",
    "ko": "다리",
    "hi": "नदी पर पुल",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("languages")
    docs = written(folder / "papers", {f"{code}_txt": text for code, text in TEXTS.items()})
    return Papers(docs, folder / "data").indexed()


@pytest.mark.fault(50)
@pytest.mark.parametrize("code", OTHER_FORMS)
def test_a_document_is_found_by_other_forms_of_its_words(library: Library, code: str) -> None:
    assert [hit.text for hit in library.search(OTHER_FORMS[code], 1)] == [TEXTS[code]]


@pytest.mark.parametrize(
    "code", [code for code in TEXTS if code not in ("th", "lo", "km", "my", "zh", "ja", "ko")]
)
def test_the_language_of_a_document_is_detected(code: str) -> None:
    kin = {"da": ("da", "no", "nn"), "no": ("da", "no", "nn"), "en": ("",)}
    assert stemmed_in(f"{TEXTS[code]}\n\n{TEXTS[code]}") in kin.get(code, (code,))


def test_the_words_of_one_language_are_not_those_of_another(papers: Papers) -> None:
    (papers.docs / "fr.txt").write_text(TEXTS["fr"])
    (papers.docs / "en.txt").write_text(
        "A new ship came to the harbour, and it was the largest of them all."
    )
    # French rules give both words the same stem.
    assert papers.indexed().search("news", 5) == []


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("When was the bridge over the Velm opened?", ["bridge", "velm", "opened"]),
        ("Wann wurde die Brücke über die Elbe gebaut?", ["brücke", "elbe", "gebaut"]),
        (
            "Who ruled before, during and after the war between them because of Velm?",
            ["ruled", "war", "velm"],
        ),
        ("Name one of the many ships here", ["ships"]),
        ("Who is The Who?", ["who", "is", "the"]),
        ("", []),
    ],
)
def test_common_words_of_the_questions_language_are_not_searched(
    question: str, terms: list[str]
) -> None:
    assert terms_of(question) == terms


def test_words_without_their_accents_and_points_are_found(papers: Papers) -> None:
    (papers.docs / "a.txt").write_text(
        "Les élèves du café étaient à la fenêtre, et le garçon était dans la cuisine."
    )
    (papers.docs / "b.txt").write_text("הַסְּפִינָה בַּנָּמֵל")
    library = papers.indexed()
    assert library.search("eleve cafe", 1)[0].text.startswith("Les élèves")
    assert library.search("ספינה הספינה", 1)[0].text.startswith("הַסְּפִינָה")


def test_a_mark_below_or_above_a_letter_stays_with_it() -> None:
    assert unaccented_words("เมืองท่า") == ["เมื", "มือ", "อง", "งท่", "ท่า"]
    assert unaccented_words("हिन्दी में") == ["हिन्दी", "में"]


@given(st.text(max_size=200))
def test_a_passage_is_indexed_by_all_terms_of_a_search_for_its_words(text: str) -> None:
    for language in ("", "de", "ru"):
        tokens = set(index_terms(text, language))
        sought = forms_of(terms_of(text), [language] if language else [])
        assert all(tokens & set(forms) for forms in sought)
        assert not any(" " in form or not form for forms in sought for form in forms)
    words, pieces = words_and_pieces(text)
    assert not any(LANGUAGE_SEPARATOR in term for term in (*words, *pieces))


@given(st.text("abc éßДж港口เมื ", max_size=40))
def test_composed_and_decomposed_characters_are_the_same_words(text: str) -> None:
    assert unaccented_words(unicodedata.normalize("NFD", text)) == unaccented_words(
        unicodedata.normalize("NFC", text)
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("When was the lighthouse built, and by whom was it lit for the first time?", "en"),
        ("Wann wurde der Turm gebaut, und wer hat das Licht zum ersten Mal angezündet?", "de"),
        ("Quand le phare a-t-il été construit, et qui est le premier gardien du feu?", "fr"),
        ("Ada Moran", ""),
        ("Hvornår blev fyrtårnet bygget, og hvem var den første fyrpasser?", ""),
        ("灯塔是什么时候建的？", ""),
        ("", ""),
        # Three common words, a quarter of all, and three times as many as of the next language.
        ("the of" + " kvorp" * 2, ""),
        ("the of and" + " kvorp" * 9, "en"),
        ("the of and" + " kvorp" * 10, ""),
        ("the of and to is that der die" + " kvorp" * 2, "en"),
        ("the of and to is der die" + " kvorp" * 2, ""),
    ],
)
def test_a_language_is_beyond_doubt_or_not(text: str, code: str) -> None:
    assert language_beyond_doubt(text) == code


@pytest.mark.parametrize(
    ("words", "in_text", "in_question"),
    [
        ("the of", "", "en"),
        ("the of and to", "en", "en"),
        ("the of and to der die", "en", "en"),
        ("the of and to" + " kvorp" * 37, "", ""),
        ("der die kvorp kvorp kvorp", "", "de"),
    ],
)
def test_stemming_needs_a_smaller_lead(words: str, in_text: str, in_question: str) -> None:
    found = [language_of_text(words.split()), language_of_question(words.split())]
    assert found == [in_text, in_question]


def test_a_related_language_is_not_beyond_doubt() -> None:
    bulgarian = "Фарът на острова е построен на скалата за да не се разбиват корабите и от брега се вижда по нощ."
    assert language_of_text(sought_words(bulgarian)) == "ru"
    assert language_beyond_doubt(bulgarian) == ""
