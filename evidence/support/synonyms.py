"""Words that say nearly the same, words of no weight, and words for what is not certain."""

from __future__ import annotations

from ..words import tokens
from .spelling import key_of

_GROUPS = """
birth born birthday birthplace, death die died dies dead dying deceased, write wrote written writes writer writers
author authored authors penned, direct directed director directors, compose composed composer composers, perform
performed performer performs singer sang sung sings sing, produce produced producer producers produces production,
create created creator creates creation made make makes making develop developed, found founded founder founding
established establish establishes inception, film films movie movies, marry married marriage wed wedding, begin began
begun begins start started starts starting commenced, win won wins winner winning awarded award received receive
earned, lead led leads leader leading headed, know known knew called named titled dubbed entitled, build built
construct constructed erect erected construction, open opened inaugurate inaugurated, complete completed finish
finished, buy bought purchase purchased acquire acquired acquisition, sell sold sale sales, grow grew grown growth
rise rose risen increase increased increases increasing climbed, fall fell fallen decline declined decrease decreased
drop dropped, say said says claimed told, show showed shown shows showing demonstrate demonstrated reveal revealed
indicate indicates indicated, use used using utilise utilize utilised utilized employ usage, help helps assist
assistance aid aids, begin began launch launched, large big huge great, small little tiny, country countries nation
nations, kill killed murder murdered, teach taught teacher, speak spoke spoken speech, choose chose chosen elected
elect selected select appointed appoint, give gave given gives provide provided provides, take took taken takes, get
got gotten gets obtain obtained, go went gone goes, come came comes, see saw seen sees, hold held holds, run ran runs
running, grant granted, lose lost loses loss losing, send sent sends, leave left leaves, become became becomes, child
children kid kids, man men, woman women, person people individual individuals, foot feet, mouse mice, think thought
believe believed, bring brought, pay paid pays payment, spend spent, stand stood, meet met, cause caused causes
causing due because, reduce reduced reduces lower lowered, job jobs employment, work works worked, car cars vehicle
vehicles automobile, doctor doctors physician physicians, illness disease sickness, university college, located
situated lies, important significant key crucial essential vital major, began became, feature features featured
featuring star starring stars starred, release released releases premiered published publish, population inhabitants
residents, cost costs price priced, near close nearby, also additionally, need needs require required requires, allow
allows allowed enable enables permit permits permitted, usually generally typically commonly often normally, primarily
mainly mostly chiefly, occupation profession career trade job, footage video film recording clip, picture photo photos
photograph photographs image images, fire fired shot shoot shooting shots gunfire, attack attacked attacks assault
raid strike, injured injury injuries wounded hurt harm damage, arrested detained custody imprisoned jailed prison
jail, guilty convicted conviction sentenced, murder homicide killing, court tribunal judge judges ruling ruled verdict
judgment judgement, law laws legislation act statute legal bill, ban banned bans prohibit prohibited prohibits forbid
forbidden outlawed, government administration authorities, minister secretary, president chairman chairwoman chair
head leader chief, boss chief director manager head executive ceo, company firm business corporation enterprise
organization organisation, group band ensemble organization organisation team, member members belong belonged belongs,
employee employees staff worker workers personnel, hire hired employ employed recruited engaged, resign resigned quit
retire retired stepped, dismissed sacked fired removed ousted, merge merged merger combined united joined amalgamated
unification, join joined entered enlisted, split divided separated division separate, rename renamed changed, move
moved moves relocated transferred relocate, return returned returns, arrive arrived arrives reached reach, visit
visited visits visitors tourists visitor, travel travelled traveled trip journey tour, live lived lives living resides
resided reside residing resident home, house home residence dwelling mansion, town city village municipality, area
region district zone territory, street road avenue, river stream, mountain mount peak hill, sea ocean, ship vessel
boat, aircraft plane airplane aeroplane, train railway railroad rail, school schools education educational, student
students pupil pupils, graduate graduated graduating degree studied, study studied studies studying research, research
researchers investigation investigate investigated study, scientist scientists researcher researchers, discover
discovered discovery found find finds, invent invented invention inventor devised, design designed designer designs
architect, plan plans planned intend intended aim aims aimed hope hoped, goal goals aim purpose objective, idea
concept notion, method methods technique techniques approach way procedure process, tool tools instrument device
devices, machine device equipment, system systems framework, part parts component components portion section element,
piece pieces fragment, kind type sort form variety category class, example instance, feature characteristic trait
property, benefit benefits advantage advantages, problem problems difficulty difficulties trouble, danger risk risks
hazard dangers threat, safe safety secure security, protect protected protection protects preserve preserved
preservation conserve, prevent prevents prevented avoid stop, end ended ends ending finish finished conclude
concluded, stop stopped halt ceased, continue continued continues continuing remain remained remains still persisted,
remain remains remained stay stayed stays, change changed changes alter altered modify modified modification, improve
improved improves improvement improving enhance enhanced enhances better, develop development developed developing
evolve evolved evolution, expand expanded expansion extend extended extension, rapid rapidly quick quickly fast swift,
slow slowly gradual gradually, begin beginning onset outset origin, origin origins originate originated originates
derive derived derives comes, famous renowned noted well celebrated prominent notable known, popular popularity
beloved, rich wealthy wealth richest, poor poverty, beautiful beauty, strong powerful strength strengthened, hard
difficult tough, easy simple easily, correct right proper accurate, wrong incorrect false, true real genuine actual,
new recent recently modern latest, old ancient former elderly, young youth teenager teenagers child, baby infant
newborn, boy son, girl daughter, parents parent, mother mom mum, father dad, relative relatives family, friend friends
companion, fan fans supporters, opponent opponents rival rivals, victory win triumph won, defeat defeated beat beaten,
game games match matches, player players played plays play, sport sports athletic athlete athletes, competition
contest tournament competitive compete competed competes championship, championship title champion champions, score
scored scores goal goals, song songs track single tune, album record lp, music musical musician musicians, concert
concerts gig performance performances show shows, book books novel novels, story stories tale tales narrative plot,
article paper report, magazine journal newspaper publication, publisher publishing published publication, series show
programme program, episode episodes, role roles part character characters, voice voiced voices, scene scenes, nominate
nominated nomination nominations, prize prizes award awards honour honor, honour honored honoured honor, money funds
funding fund cash finance financial, fee fees charge charges payment, profit profits earnings gain, debt debts loan
loans, market markets trade trading, shop shops store stores, goods products product items, customer customers client
clients consumer consumers, food foods meal meals dish cuisine, drink drinks beverage beverages, plant plants, animal
animals creature creatures, human humans people man mankind, body bodies, sick ill patient patients, hospital clinic,
treat treats treated treatment therapy cure, medicine medicines drug drugs medication medications, heart cardiac,
brain mental, war wars conflict battle fighting fought fight, army military troops soldiers forces, soldier soldiers
troops combatants, weapon weapons arms, peace treaty, flag banner, king monarch emperor ruler, rule ruled reign
reigned, church cathedral chapel, religion religious faith, island islands isle, weather climate, earth world globe
global worldwide planet, hot heat warm, cold cool, light lighting, colour color colours colors, centre center central,
theatre theater, programme program, favour favor favourite favorite, labour labor, neighbour neighbor neighbouring,
defence defense, grey gray, include includes included including contain contains contained containing comprise
comprises comprised consist consists, example such including, describe described describes depict depicted depicts
portrayed, mention mentioned mentions refer refers referred, explain explained explains clarify, announce announced
announces announcement declared declare unveiled, declare declared declares proclaim proclaimed, agree agreed agrees
agreement consent accord, discuss discussed discusses talk talked, ask asked request requested, answer answered reply
response respond, suggest suggested suggests propose proposed proposes recommend recommended, recommend recommended
recommends advised advise advice, decide decided decides decision chose, believe believes belief beliefs opinion view,
want wants wanted wish wished desire, try tried tries attempt attempted attempts effort efforts, achieve achieved
achieves achievement accomplished attain reached, manage managed manages management run, control controlled controls
command, serve served serves service, support supported supports back backed endorse endorsed, vote voted votes voting
election elections, party parties, right rights, citizen citizens citizenship national nationality nationals, border
borders boundary, distance length long, size area large extent, height tall high, weight weigh weighs heavy, speed
fast velocity, amount quantity number, average mean typical, total overall altogether sum, entire whole full complete,
several many numerous multiple various, different various distinct diverse, same similar alike identical equal,
special specific particular, main major chief primary principal, only sole solely exclusively, almost nearly,
currently now today present, annually yearly annual year, daily day, initially originally first, finally eventually
ultimately, formerly previously former previous, subsequently later afterwards after then, together jointly, near
close nearby next adjacent, inside within interior, outside exterior external, across throughout, over more above
exceeding, under less below, american us usa united america, british uk britain, english england, french france,
german germany, dutch netherlands, spanish spain, swiss switzerland, danish denmark, swedish sweden, polish poland,
turkish turkey, welsh wales, irish ireland, scottish scotland, greek greece, chinese china
"""
_IRREGULAR = """
arise arose arisen, beat beaten, bend bent, bind bound, bite bit bitten, bleed bled, blow blew blown, break broke
broken, breed bred, bring brought, catch caught, cling clung, creep crept, deal dealt, dig dug, draw drew drawn, dream
dreamt, drink drank drunk, drive drove driven, eat ate eaten, feed fed, feel felt, fight fought, flee fled, fly flew
flown, forbid forbade forbidden, forget forgot forgotten, forgive forgave forgiven, freeze froze frozen, hang hung,
hear heard, hide hid hidden, keep kept, kneel knelt, leap leapt, learn learnt, lend lent, mean meant, overcome
overcame, ride rode ridden, seek sought, sew sewn, shake shook shaken, shine shone, shrink shrank shrunk, sink sank
sunk, sit sat, sleep slept, slide slid, spin spun, steal stole stolen, stick stuck, strike struck, string strung, swear
swore sworn, sweep swept, swell swollen, swim swam swum, swing swung, tear tore torn, throw threw thrown, undergo
underwent undergone, understand understood, wake woke woken, wear wore worn, weave wove woven, weep wept, withdraw
withdrew withdrawn
"""
"""Forms of a verb that endings alone do not bring together."""


def _related() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for part in f"{_GROUPS},{_IRREGULAR}".split(","):
        group = frozenset(key_of(word) for word in part.split())
        found |= {key: found.get(key, frozenset()) | group for key in group}
    return found


RELATED = _related()
"""Stems of words that say nearly the same, each with all of these."""

_COMMON = """
able accord according account across action active activity actual add additional additionally address advance
advantage affect afterwards again age ago agree aim allow almost alone along already also although always among amount
another appear apply approach appropriate approximate approximately area around aspect associate attempt attention
available average aware away back base based basic basis beautiful became become becoming begin behaviour belief
believe belong benefit best better beyond big bit book bring broad broader build call called capable care carry case
cause central certain certainly chance change character characteristic circumstance claim clear clearly close
collection come comes commit common commonly community company comparatively compare complete completely complex
concept concern condition connect consider considerable considered consist constant contain content context contexts
continue contribute control conversely correct cost course cover covers create crucial current currently cut cutting
date day deal decade decide deep define degree demonstrate depend describe design desire despite detail detailed
determine develop development different difficult direct directly discuss distinct due during earlier early easy edge
effect effective effort either element emerge emerging enable encourage end enough ensure entire environment
especially essential establish even event eventually ever every everyone everything example except exist expect
experience explain explicitly express extend extent face faced fact factor fail fall far feature feel field figure
final finally find fine first fit focus follow following force form former found free frequent full function further
furthermore future gain general generally generate get give given go goal good great greater greatly ground group grow
half hand happen hard head help hence high highly hold home house however huge human idea identify immediate
immediately impact important improve include included including increase indeed indicate individual influence
information initial initially inside instance instead intend interest involve involved issue item job join keep key
kind know known lack large largely last late later law lead learn least leave left less lesser let level life light
like likely likewise limit line list little live local long longer look lose lot low made main mainly maintain major
make man manage manner many mark material matter mean meaning means meanwhile measure member mention mentioned
mentions method might mind minor moment month moreover mostly move much multiple name named natural nature near nearly
necessary need never nevertheless new next normal notable notably note noted now number numerous object obtain occur
offer often old once one open opportunity option order ordinary original originally others outcome outside overall own
part particip participate particular particularly party pass past pattern pay people per perhaps period person phase
physical pick piece place plan play point popular position possible potential practice present previous previously
primarily primary probably problem process produce product program project proper provide provided public purpose put
quality quarter quick quite range rate rather reach read real really reason receive recent recently recognise
recognize reduce refer regard regarding relate related relation relationship relative relatively release relevant
remain remove report represent require resource respect respond response responsible result return right rise role
room roughly rule run same save say scene second section see seek seem select sense separate series serious serve
service set several shape share short show side significant significantly similar similarly simple simply since single
site situation size small social society solution something sometimes soon sort source space speak special specific
specifically stage stand standard start state statement status stay step still stop story strong structure study style
subject subsequently success successful such suggest suitable support sure system take talk task team tell tend term
thank thanks therefore thing think third thought thus time today together tool top topic total toward towards
traditional true truly try turn type typical typically ultimately understand unique unit upon use used useful using
usual usually valuable value variety various version very view way week well while whole wide widely within without
word work world worth year yes yet young
"""
COMMON = frozenset(key_of(word) for word in _COMMON.split())
"""Stems of words that stand in texts of all kinds and so tell little."""

HEDGES = frozenset(
    tokens(
        "may might could perhaps possibly probably likely allegedly alleged supposedly reportedly rumoured rumored "
        "proposed planned expected projected suggests suggest suggested believed thought appears seems unclear "
        "uncertain disputed unconfirmed estimated vielleicht angeblich vermutlich mutmasslich konnte moglicherweise "
        "peut pourrait presume quizas presunto supuesto"
    )
)
"""Words that make a statement an uncertain one."""
