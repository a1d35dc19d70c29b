"""Words by which documents say what they are: drafts, outdated, reports of a year, rules that hold until others do."""

from __future__ import annotations

from ..words import stem, stems


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _stems(words: str) -> frozenset[str]:
    return frozenset(own for word in words.split() for own in stems(word) or [stem(word)])


DRAFT = _set("draft drafts entwurf entwurfe brouillon brouillons borrador borradores bozza rascunho szkic черновик")
"""Words of what is not yet in force."""
OUTDATED = _set(
    "superseded outdated obsolete deprecated withdrawn replaced repealed veraltet uberholt ueberholt ersetzt "
    "aufgehoben "
    "obsolete perime perimee remplace remplacee abroge abrogee obsoleto obsoleta derogado derogada sustituido "
    "sustituida "
    "reemplazado reemplazada anulado anulada superado superata sostituito sostituita substituido substituida revogado "
    "revogada verouderd vervangen nieaktualny устарел"
)
"""Words of what is no longer in force, wherever they open or end a name."""
SHELVED = _set(
    "old archive archived archives previous former bak backup alt archiv archiviert ablage ancien ancienne anciens "
    "antiguo antigua antiguos anterior viejo archivo archivado archivio vecchio antigo arquivo oud archief"
)
"""The same, but part of many names: they count at the end of a file's name, as a folder, and in brackets."""
DRAFT_SIGNS = ("草案", "草稿", "征求意见稿", "ドラフト", "초안")
OUTDATED_SIGNS = ("旧版", "废止", "廢止", "廃止", "作废", "已失效", "구버전")
"""The same in scripts without spaces."""

IDLE = _set(
    "edition version fassung ausgabe auflage stand as of valid effective from since gultig ab vom seit vigueur valable "
    "depuis desde vigente version versione versao versie edicion edizione edicao ed rev revised revision updated "
    "update final approved signed current endgultig aktuell freigegeben definitif definitive actuel actuelle "
    "definitivo "
    "aprobado actual v year jahr annee ano release copy kopie copie copia"
)
"""Words of a name that tell nothing of what the document is about."""
NEWER = _set("new neu neue nouveau nouvelle nuevo nueva")
"""The same at the end of a file's name."""

REPLACING = _set(
    "supersede supersedes superseded superseding replace replaces replaced replacing ersetzt ersetzen tritt löst "
    "remplace remplacent abroge sustituye sustituyen reemplaza reemplazan deroga substitui sostituisce vervangt "
    "取代 替代 代替"
)
"""Words by which the texts are found that say which document they replace; `statements` tells whether they do."""

SERIES = _stems(
    "report annual yearly yearbook almanac minutes newsletter bulletin magazine journal diary log budget accounts "
    "statistics census survey results season championship championships cup league games olympics olympic tournament "
    "race marathon festival conference congress symposium workshop meeting election elections referendum exhibition "
    "expedition regatta cruise voyage weekly monthly quarterly quarter week issue programme calendar awards "
    "award concert "
    "jahresbericht geschaftsbericht bericht jahrbuch protokoll niederschrift rundbrief haushalt haushaltsplan "
    "jahresabschluss statistik saison meisterschaft pokal spiele fest kongress tagung sitzung wahl ausstellung "
    "fahrtbericht quartal wochenbericht monatsbericht programm kalender rapport annuaire comptes bilan championnat "
    "coupe jeux exposition lettre informe memoria anuario acta actas boletin presupuesto temporada campeonato copa "
    "juegos elecciones exposicion jornadas 报告 年报 年鉴 公报 纪要 会议 比赛 選手 大会 報告 年報"
)
"""What is made anew for each year or occasion: the next one does not take back what the last one said."""
RULES = _stems(
    "tariff tariffs price prices fee fees charge charges rate rates hours timetable schedule rules regulation "
    "regulations policy manual handbook guide guideline guidelines procedure instruction instructions statute statutes "
    "bylaws ordinance terms conditions specification directory contacts checklist tarif tarife preise preisliste "
    "gebuhren entgelte offnungszeiten fahrplan satzung richtlinie handbuch leitfaden anleitung anweisung bedingungen "
    "merkblatt datenblatt verordnung tarifs prix horaires reglement consignes manuel statuts tarifa tarifas precios "
    "horario horarios reglamento normas normativa guia procedimiento estatutos ordenanza 价格 价目 收费 规定 办法 手册 "
    "指南 制度 章程 条例 料金 規程 規則"
)
"""What holds until another one of its kind does."""
KINDS_OF_DOCUMENTS = (
    r"document|version|edition|issue|release|revision|policy|list|sheet|rules|regulations?|guide|guidelines?|handbook|"
    r"manual|notice|statutes?|ordinance|procedure|plan|schedule|timetable|page|instructions?|directive|circular|leaflet|"
    r"brochure|terms|tariffs?|prices|fees|charges|rates|hours|text|draft|dokument|\w*fassung|ausgabe|auflage|liste|"
    r"preisliste|\w*ordnung|\w*satzung|\w*tarif\w*|\w*richtlinie|\w*handbuch|\w*anweisung|\w*plan|\w*blatt|\w*preise|"
    r"\w*zeiten|regelung|leitfaden|entwurf|reglement|horaires?|consigne|texte|documento|edicion|reglamento|tarifas?|"
    r"horarios?|norma|normativa|guia|procedimiento|texto|lista|borrador"
)
"""What versions there are of, as alternatives of a pattern for folded texts."""
RULE_ENDINGS = ("ordnung", "satzung", "tarif", "preise", "preisliste", "gebuhren", "zeiten", "richtlinie", "anweisung")
"""The same as the last part of German words."""
