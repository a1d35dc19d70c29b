"""Words that stand in texts of all kinds and so tell little."""

from __future__ import annotations

from .spelling import key_of

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
