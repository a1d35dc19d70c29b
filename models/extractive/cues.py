"""The words with which languages ask for a person, a date, a place, a number or a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Literal

Kind = Literal["person", "date", "place", "number", "reason", "any"]

UNSPACED = frozenset({"zh", "ja"})
"""Languages in which no space tells where a word begins."""

_CUES: Mapping[str, Mapping[Kind, str]] = {
    "en": {
        "number": r"how (?:many|much|old|long|far|tall|high|large|big|deep|often|wide|heavy|fast|thick|hot|cold|"
        r"warm)|"
        r"what (?:(?:is|was|are|were) the )?(?:number|percentage|population|share|height|length|width|depth|"
        r"weight|age|"
        r"price|cost|speed|size|distance|temperature)",
        "date": r"when|(?:what|which) (?:\w+ )?(?:year|date|day|month|decade|century)|date of|birthday",
        "place": r"where|(?:what|which) (?:\w+ )?(?:city|town|village|country|state|county|place|region|area|"
        r"continent|"
        r"river|province|island)|place of|birthplace",
        "person": r"who|whom|whose",
        "reason": r"why|how come|(?:what|which) (?:\w+ )?(?:reason|cause)s?|what (?:is|was|were|"
        r"are) the (?:reason|cause)s?|"
        r"what (?:caused|led to)",
    },
    "de": {
        "number": r"wie (?:viele?n?|hoch|lang|lange|weit|groß|alt|tief|breit|schwer|schnell|oft|teuer|dick|warm|"
        r"heiß|kalt)|"
        r"welche (?:höhe|länge|breite|tiefe|größe|fläche|zahl|anzahl|einwohnerzahl)",
        "date": r"wann|welche[mnrs]? (?:\w+ )?(?:jahr|tag|monat|jahrzehnt|jahrhundert|datum)|(?:geburts|"
        r"todes)(?:tag|datum)",
        "place": r"woher|wohin|wo|welche[mnrs]? (?:\w+ )?(?:stadt|ort|dorf|gemeinde|land|bundesland|staat|"
        r"kanton|kreis|region|"
        r"gegend|kontinent|fluss|provinz|insel)|(?:geburts|sterbe)ort",
        "person": r"wer|wem|wen|wessen",
        "reason": r"warum|weshalb|wieso|weswegen|wozu|welche[mnrs]? (?:grund|gründen?|ursachen?)|"
        r"was (?:ist|war|waren) (?:der|die) (?:grund|gründe|ursachen?)",
    },
    "fr": {
        "number": r"combien|quel(?:le)?s? (?:(?:est|était|fut|sont) )?(?:la |le |l['’])?(?:hauteur|longueur|largeur|"
        r"profondeur|taille|superficie|population|vitesse|distance|température|âge|nombre|prix|poids|coût)",
        "date": r"quand|quelles? (?:\w+ )?(?:années?|dates?)|quels? (?:\w+ )?(?:an|jour|mois|siècle)|date de",
        "place": r"où|quelle (?:\w+ )?(?:ville|région|province|commune|île)|quel (?:\w+ )?(?:pays|lieu|endroit|état|"
        r"continent|fleuve|village|département)|lieu de|ville natale",
        "person": r"(?<!ce )qui",
        "reason": r"pourquoi|quelles? (?:est la |sont les )?(?:raison|cause)s?",
    },
    "es": {
        "number": r"cu[aá]nt[oa]s?|(?:qu[eé]|cu[aá]l (?:es|era|fue) (?:el|la)) (?:altura|longitud|anchura|"
        r"profundidad|"
        r"superficie|población|tamaño|edad|número|precio|peso|coste|costo|velocidad|distancia|temperatura)",
        "date": r"cu[aá]ndo|qu[eé] (?:año|fecha|día|mes|siglo|década)|fecha de",
        "place": r"ad[oó]nde|d[oó]nde|qu[eé] (?:ciudad|país|lugar|región|estado|continente|pueblo|provincia|río|"
        r"isla)|"
        r"lugar de",
        "person": r"qui[eé]n(?:es)?",
        "reason": r"por qu[eé]|cu[aá]l(?:es)? (?:es|era|fue|son|eran|fueron) (?:el motivo|los motivos|"
        r"las? (?:causa|raz[oó]n)\w*)",
    },
    "it": {
        "number": r"quant[oaie]|qual (?:è|era|fu) (?:il |la |l['’])(?:altezza|lunghezza|larghezza|profondità|"
        r"superficie|"
        r"popolazione|età|numero|prezzo|peso|velocità|distanza|temperatura)",
        "date": r"quando|(?:che|quale) (?:anno|data|giorno|mese|secolo)|data di",
        "place": r"dove|dov(?=['’])|(?:che|quale) (?:città|paese|luogo|regione|stato|continente|provincia|isola|"
        r"fiume)|luogo di",
        "person": r"chi",
        "reason": r"perch[éè]|come mai|per quale (?:motivo|ragione)",
    },
    "pt": {
        "number": r"quant[oa]s?|qual (?:é|era|foi) (?:a|o) (?:altura|comprimento|largura|profundidade|área|"
        r"população|idade|"
        r"número|preço|peso|velocidade|distância|temperatura)",
        "date": r"quando|(?:que|qual) (?:ano|data|dia|mês|século)|data de",
        "place": r"onde|(?:que|qual) (?:cidade|país|lugar|região|estado|continente|província|ilha|rio)|local de",
        "person": r"quem",
        "reason": r"por ?qu[eê]|qual (?:é|era|foi) (?:o motivo|a (?:causa|razão))",
    },
    "nl": {
        "number": r"hoeveel|hoe (?:hoog|lang|oud|groot|diep|breed|zwaar|ver|snel|vaak|duur)",
        "date": r"wanneer|welke? (?:jaar|datum|dag|maand|eeuw)",
        "place": r"waar|waarheen|welke? (?:stad|land|plaats|dorp|provincie|regio|eiland|rivier)",
        "person": r"wie|wiens",
        "reason": r"waarom|waardoor|welke reden",
    },
    "sv": {
        "number": r"hur (?:många|mycket|hög|högt|lång|långt|gammal|stor|stort|djup|djupt)",
        "date": r"när|vilket (?:år|datum)|vilken (?:dag|månad)",
        "place": r"^\W*var|varifrån|vart|vilken (?:stad|plats|ö)|vilket land",
        "person": r"vem|vilka",
        "reason": r"varför",
    },
    "da": {
        "number": r"hvor (?:mange|meget|høj|højt|lang|langt|gammel|stor|stort|dyb|dybt)",
        "date": r"hvornår|hvilket (?:år|datum)|hvilken (?:dag|måned)",
        "place": r"hvor|hvilken (?:by|ø)|hvilket (?:land|sted)",
        "person": r"hvem",
        "reason": r"hvorfor",
    },
    "no": {
        "number": r"hvor (?:mange|mye|høy|høyt|lang|langt|gammel|stor|stort|dyp|dypt)",
        "date": r"når|hvilket år|hvilken (?:dag|dato|måned)",
        "place": r"hvor|hvilken (?:by|øy)|hvilket (?:land|sted)",
        "person": r"hvem",
        "reason": r"hvorfor",
    },
    "ru": {
        "number": r"сколько|насколько|как(?:ов|ова|ой|ая|ое) (?:высот|длин|ширин|глубин|площад|населени|возраст|"
        r"числ|цен|вес)\w*",
        "date": r"когда|как(?:ом|ой|ого|ое|ую) (?:год|дат|день|дня|месяц|век)\w*",
        "place": r"где|куда|откуда|как(?:ом|ой|ую) (?:город|стран|мест|област|регион|остров|сел|дереви)\w*",
        "person": r"кто|кого|кому|кем|чей|чья",
        "reason": r"почему|зачем|отчего|по какой причине",
    },
    "zh": {
        "number": r"多少|[几幾](?:个|個|人|名|次|座|位|米|岁|只|艘|条|天|种|本)|多(?:高|长|長|大|深|宽|寬|重|远|"
        r"遠|久|快)",
        "date": r"什么时候|什麼時候|何时|何時|哪一?[年天日]|[几幾]月|哪个(?:月|世纪|年代)",
        "place": r"哪里|哪裡|哪裏|哪儿|何处|何地|什么地方|哪个(?:国家|城市|省|县|地方|地区|州|洲|岛)",
        "person": r"[谁誰]|哪位|何人",
        "reason": r"为什么|為什麼|为何|為何|何以|什么原因",
    },
    "ja": {
        "number": r"いくつ|いくら|何(?:人|個|年間|回|メートル|キロ|歳|冊|隻|台|本|枚|パーセント)|どれ(?:くらい|"
        r"ほど|だけ)|どのくらい",
        "date": r"いつ|何年|何月|何日|何世紀",
        "place": r"どこ|何処|どの(?:国|都市|町|村|県|州|島|場所)",
        "person": r"誰|だれ|どなた",
        "reason": r"なぜ|何故|どうして",
    },
}


@cache
def cues_of(language: str) -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    """A pattern for each kind that the language has words to ask for; those of all languages if it is not known."""
    own = {language: _CUES[language]} if language in _CUES else _CUES
    return tuple((kind, _compiled(code, words)) for code, cues in own.items() for kind, words in cues.items())


def _compiled(language: str, words: str) -> re.Pattern[str]:
    edge = "" if language in UNSPACED else r"\b"
    return re.compile(rf"{edge}(?:{words}){edge}", re.IGNORECASE)
