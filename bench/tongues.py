"""Made-up languages with the common words, sounds and endings of real ones."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from random import Random
from typing import NamedTuple

VOCABULARY = 100_000
FLATTENING = 2.7
STEEPNESS = 1.05


class Tongue(NamedTuple):
    """What the words of a language are made of."""

    share: float
    """Of the documents."""
    common: str
    """The commonest words, in the order of their frequency."""
    starts: str
    middles: str
    endings: str
    """Of the forms of one word, apart from the word itself."""
    gap: str = " "
    """What stands between words."""


TONGUES = {
    "en": Tongue(
        0.6,
        "the of and to in a is that for it was on are as with be by at this have from or had not but which they",
        "b br c ch d f fl g gr h j k l m n p pl r s sh st t tr v w",
        "ack all an ar ast at ead eal ear end er est ick ight ill in ing ink old on one ook ore ound ump under",
        "s ed ing er ly",
    ),
    "de": Tongue(
        0.12,
        "der die und in den von zu das mit sich des auf ist im dem nicht ein eine als auch es an werden aus er wird",
        "b bl d f g gr h k kl l m n pf r s sch spr st tr v w z",
        "ach aft and ang aus eben eck eil ein eit elt er ich ier ind ock ohn old orm und ung ur",
        "e en er es n s",
    ),
    "fr": Tongue(
        0.1,
        "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec son",
        "b br c ch d f fr g j l m n p pl pr r s t tr v",
        "able age aire al ance ant ard é ent ère eur ice ien in ique ir ois on or ouv ure",
        "s e es er ent",
    ),
    "es": Tongue(
        0.08,
        "de la que el en y a los del se las por un para con no una su al lo como más pero sus le ha este son",
        "b c ch d f g j l ll m n p pl r s t tr v z",
        "ado al ano anza ar ción dad el encia er era ero ido illo ín ista or oso ura",
        "s es o a amos",
    ),
    "ru": Tongue(
        0.05,
        "и в не на что с он как это по к но из у за от так же для его все она был бы они мы о до",
        "б в г гр д ж з к кр л м н п пр р с ст т ф х ц ч ш",
        "ад ал ан ар ел ен ер ик ин ист ов ой ок ол он ор от ств уд ук ун ыт",
        "а у ом ы ов ами е",
    ),
    "zh": Tongue(
        0.03,
        "的 了 在 是 我 有 和 就 不 人 都 一 一个 上 也 很 到 说 要 去",
        "城 港 船 桥 河 灯 年 山 海 路 书 学 国 市 史 木 石 水 火 风 东 西 南 北",
        "市 口 长 梁 流 塔 代 脉 岸 线 籍 校 家 场 料 材 头 平 车 景 方 部 边 门",
        "们",
        "",
    ),
    "th": Tongue(
        0.02,
        "ที่ การ และ ใน ของ มี เป็น ได้ ว่า จะ ให้ ไม่ กับ จาก โดย นี้ คือ ความ",
        "เมือง ท่า เรือ สะพาน แม่ ประ ปี ภู ทะ ถนน หนัง โรง",
        "น้ำ ภา คาร เล เขา สือ เรียน ไฟ ทราย ลม ใต้ เหนือ",
        "ๆ",
        "",
    ),
}


class Vocabulary(NamedTuple):
    """The words of one language, the commonest first."""

    ranked: list[str]
    weights: list[float]
    """How often they occur, each with all before it, by Zipf's law."""


class Words:
    """The words of one language, drawn by their frequency; they are the same ones whoever draws."""

    def __init__(self, code: str) -> None:
        self.ranked, self._weights = _vocabulary(code)
        self._random = Random(f"words drawn of {code}")  # noqa: S311 - no secret
        self._common = len(TONGUES[code].common.split())
        self._endings = TONGUES[code].endings.split()

    def draw(self, count: int) -> list[str]:
        """Words as they follow each other in a text, some of them in another form."""
        ranks = self._random.choices(range(len(self.ranked)), cum_weights=self._weights, k=count)
        return [self._formed(rank) for rank in ranks]

    def _formed(self, rank: int) -> str:
        is_bare = rank < self._common or self._random.random() < 0.6
        return self.ranked[rank] if is_bare else self.ranked[rank] + self._random.choice(self._endings)


@cache
def _vocabulary(code: str) -> Vocabulary:
    tongue, random = TONGUES[code], Random(code)  # noqa: S311 - no secret
    starts, middles = tongue.starts.split(), tongue.middles.split()
    made = (_made(starts, middles, random) for _ in range(VOCABULARY))
    ranked = list(dict.fromkeys([*tongue.common.split(), *made]))
    weights = list(accumulate((rank + FLATTENING) ** -STEEPNESS for rank in range(len(ranked))))
    return Vocabulary(ranked, weights)


def _made(starts: list[str], middles: list[str], random: Random) -> str:
    return "".join(random.choice(starts) + random.choice(middles) for _ in range(random.choice((1, 2, 2, 3))))
