"""What kind of answer a question wants, in whichever language, and that a report begins with it."""

from __future__ import annotations

import pytest
from extracting import finding_for, report_on

from deep_research.models.extractive.answers import kind_of, without_cues
from deep_research.models.extractive.holding import holds


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who built the tower of Osk?", "person"),
        ("In what year was the tower built?", "date"),
        ("What is the height of the tower?", "number"),
        ("How wide is the river?", "number"),
        ("Why was the bridge closed?", "reason"),
        ("What is the tower made of?", "any"),
        ("Wie hoch ist der Turm?", "number"),
        ("Wie heißt der Turm?", "any"),
        ("In welchem Jahr wurde der Turm gebaut?", "date"),
        ("Warum wurde die Brücke gesperrt?", "reason"),
        ("In welchem Land liegt Osk?", "place"),
        ("En quelle année la tour a-t-elle été construite ?", "date"),
        ("Quelle est la hauteur de la tour ?", "number"),
        ("Pourquoi le pont a-t-il été fermé ?", "reason"),
        ("¿En qué año se construyó la torre?", "date"),
        ("¿Por qué se cerró el puente?", "reason"),
        ("¿Cuál es la altura de la torre?", "number"),
        ("In che anno è stata costruita la torre?", "date"),
        ("Dove è nata Ada Brandt?", "place"),
        ("Chi ha costruito la torre?", "person"),
        ("Em que ano a torre foi construída?", "date"),
        ("Onde nasceu Ada Brandt?", "place"),
        ("Wie is de burgemeester van Osk?", "person"),
        ("Waarom is de brug gesloten?", "reason"),
        ("Varför stängdes bron?", "reason"),
        ("Hvor mange mennesker bor det i Osk?", "number"),
        ("Кто построил башню?", "person"),
        ("В каком году построили башню?", "date"),
        ("Сколько людей живёт в Оске?", "number"),
        ("Почему закрыли мост?", "reason"),
        ("谁建造了这座塔？", "person"),
        ("这座塔是哪一年建成的？", "date"),
        ("这座塔有多高？", "number"),
        ("大桥为什么关闭？", "reason"),
        ("橋はなぜ閉鎖されたのですか。", "reason"),
        ("塔はどこにありますか。", "place"),
    ],
)
def test_the_kind_of_answer_is_told_in_many_languages(question: str, kind: str) -> None:
    assert kind_of(question) == kind


def test_the_words_that_ask_go_and_those_that_are_asked_about_stay() -> None:
    assert without_cues("In welchem Jahr wurde der Turm von Osk gebaut?").split() == (
        ["In", "wurde", "der", "Turm", "von", "Osk", "gebaut?"]
    )
    assert without_cues("大桥为什么关闭？").split() == ["大桥", "关闭？"]


@pytest.mark.parametrize(
    ("sentence", "question", "has_it"),
    [
        ("In 1900 Tarn built a school.", "How many people lived in Tarn in 1900?", False),
        ("The school was built in 1912.", "How many people lived in Tarn in 1900?", False),
        ("Tarn had 1912 people.", "How many people lived in Tarn in 1900?", True),
        ("The lake has an area of 1900 square metres.", "How large is the lake of Tarn?", True),
        ("The path climbs from 1200 m to the school.", "How far does it climb?", True),
        ("In 1912 people built a school.", "How many people lived in Tarn in 1900?", False),
        ("The school dates from 1912, years after the fire.", "How many people lived in Tarn in 1900?", False),
        ("The fire of 1912 burnt the school.", "How many people lived in Tarn in 1900?", False),
        ("Tarn had two schools.", "How many schools did Tarn have?", True),
        ("Школу построили в 1912 году.", "Сколько людей жило в Тарне?", False),
        ("Tarn hatte zwölf Schulen.", "Wie viele Schulen hatte Tarn?", True),
        ("北京的人口是两千一百万。", "北京的人口是多少？", True),
        ("北京是一座城市。", "北京的人口是多少？", False),
    ],
)
def test_a_number_that_the_question_gives_and_a_year_are_no_numbers_asked_for(
    sentence: str, question: str, has_it: bool
) -> None:
    assert holds("number", sentence, question) is has_it


@pytest.mark.parametrize(
    ("sentence", "has_one"),
    [
        ("Ada wurde in Österreich geboren.", True),
        ("Ada was born at Ålesund.", True),
        ("Ada est née à Paris.", True),
        ("Ada est née près d’Évreux.", True),
        ("Ada nació en Madrid.", True),
        ("Ада родилась в Твери.", True),
        ("艾达出生于北京。", True),
        ("Ada was born in May 1870.", False),
        ("Ada wurde im Mai 1870 geboren.", False),
        ("Ada was born in March.", False),
        ("Ada was a Norwegian sailor.", False),
        ("Ada Brandt nació sola.", False),
    ],
)
def test_a_place_is_a_capitalised_word_behind_a_preposition_of_its_language(sentence: str, has_one: bool) -> None:
    assert holds("place", sentence, "Ada?") is has_one


def test_since_gives_a_reason_but_with_a_date() -> None:
    assert holds("reason", "It was closed since the pillars had cracked.", "")
    assert not holds("reason", "It has been closed since 2003.", "")
    assert not holds("reason", "It has been closed since May.", "")


@pytest.mark.parametrize(
    ("question", "title", "first", "answer"),
    [
        (
            "Why was the Velm bridge closed?",
            "Velm bridge",
            "The Velm bridge was opened in 1911.",
            "It was closed in 2003 because the pillars had cracked.",
        ),
        (
            "Warum wurde die Velmbrücke gesperrt?",
            "Velmbrücke",
            "Die Velmbrücke wurde 1911 eröffnet.",
            "Sie wurde 2003 gesperrt, weil die Pfeiler Risse hatten.",
        ),
        (
            "Pourquoi le pont de Velm a-t-il été fermé ?",
            "Pont de Velm",
            "Le pont de Velm a été ouvert en 1911.",
            "Il a été fermé en 2003 à cause des fissures.",
        ),
        (
            "¿Por qué se cerró el puente de Velm?",
            "Puente de Velm",
            "El puente de Velm se abrió en 1911.",
            "Se cerró en 2003 debido a las grietas.",
        ),
        ("韦尔姆大桥为什么关闭？", "韦尔姆大桥", "韦尔姆大桥于1911年开放。", "大桥因为桥墩开裂而关闭。"),
        (
            "Wie hoch ist der Turm von Osk?",
            "Turm von Osk",
            "Der Turm von Osk ist aus Granit.",
            "Der Turm ist 43 Meter hoch.",
        ),
        (
            "¿En qué año se construyó la torre de Osk?",
            "Torre de Osk",
            "La torre de Osk se construyó con granito.",
            "La torre la construyó Ada Brandt en 1911.",
        ),
        (
            "Où est née Ada Brandt ?",
            "Ada Brandt",
            "Ada Brandt est née en 1870.",
            "Ada Brandt est née à Évreux.",
        ),
        (
            "How many people lived in Tarn in 1900?",
            "Tarn",
            "In 1900 Tarn built a school.",
            "Tarn had 840 people by 1900.",
        ),
        (
            "Где родилась Ада Брандт?",
            "Ада Брандт",
            "Ада Брандт родилась в 1870 году.",
            "Ада Брандт родилась в Твери.",
        ),
    ],
)
def test_a_report_begins_with_the_sentence_that_holds_what_is_asked_for(
    question: str, title: str, first: str, answer: str
) -> None:
    report = report_on(question, finding_for(question, (title, f"{first} {answer}")))
    assert report.startswith(f"{answer} [1]")
