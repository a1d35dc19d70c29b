// Cited sentences: each opens the card of its citation, as the number behind it does.

import { inPieces } from "./dom.js";

// Milliseconds after a click in which a second one selects a word instead.
const DOUBLE = 250;
const CHIPS = "button.cite[popovertarget]";
// Sentences and chips that are linked at once.
const PIECE = 200;

// The checked words right before a chip of a calculation; only numbers of sources may stand between them.
function claimBefore(chip) {
  let before = chip.previousSibling;
  while (before && (before.nodeType === Node.TEXT_NODE ? !before.data.trim() : before.matches(".cite"))) before = before.previousSibling;
  return before?.dataset?.claim;
}

// Notes at each chip to which sentence it belongs, and marks the sentences that have one.
export async function linkSentences(report, pause) {
  const cited = new Set();
  let claim;
  for await (const piece of inPieces(report.querySelectorAll(`article :is(.claim, ${CHIPS})`), PIECE, pause)) {
    for (const part of piece) {
      if (part.matches(".claim")) claim = part.dataset.claim;
      else cited.add((part.dataset.sentence = (part.matches(".calc") ? claimBefore(part) : claim) ?? ""));
    }
  }
  for await (const piece of inPieces(report.querySelectorAll("article .claim"), PIECE, pause)) {
    for (const words of piece) words.classList.toggle("opens", cited.has(words.dataset.claim));
  }
}

const openCard = () => document.querySelector(".quote:popover-open");
const chipOf = (card) => card && document.querySelector(`button.cite[popovertarget="${CSS.escape(card.id)}"]`);

// Marks the sentence of a chip, or that of the open card.
export function lightSentence(chip) {
  const lit = chip ?? chipOf(openCard());
  for (const words of document.querySelectorAll(".claim.lit")) words.classList.remove("lit");
  for (const words of lit?.closest("article")?.querySelectorAll(`[data-claim="${lit.dataset.sentence}"]`) ?? []) words.classList.add("lit");
}

// Scrolls the marked sentence above a card that lies at the bottom of the window; a long one from its beginning.
const BAR = 56, SPACE = 12;
function bringAbove(card) {
  const { top: edge, bottom: end } = card.getBoundingClientRect(), places = [...document.querySelectorAll(".claim.lit")].map((words) => words.getBoundingClientRect());
  if (end < innerHeight - 1 || !places.length) return;
  const top = Math.min(...places.map((place) => place.top)), bottom = Math.max(...places.map((place) => place.bottom));
  if (bottom > edge - SPACE) scrollBy({ top: Math.min(bottom - edge + SPACE, top - BAR - SPACE), behavior: "instant" });
}

function openCardOf(words) {
  const chips = [...words.closest("article").querySelectorAll(`[data-sentence="${words.dataset.claim}"]`)];
  const chip = chips.find((each) => !each.matches(".calc")) ?? chips[0];
  document.getElementById(chip.getAttribute("popovertarget")).showPopover({ source: chip });
}

let waiting = 0, pressed = null;
document.addEventListener("pointerdown", () => (pressed = chipOf(openCard())), { capture: true });
document.addEventListener("click", ({ target, detail }) => {
  clearTimeout(waiting);
  const words = target.closest(".claim.opens"), isSelecting = () => !getSelection().isCollapsed;
  // A click on the sentence of an open card has closed it.
  if (!words || detail > 1 || isSelecting() || pressed?.dataset.sentence === words.dataset.claim && words.closest("article").contains(pressed)) return;
  waiting = setTimeout(() => words.isConnected && !isSelecting() && openCardOf(words), DOUBLE);
});
// For readers who move a caret through the text.
document.addEventListener("keydown", ({ key, target }) => {
  const words = key === "Enter" && !target.closest("a, button, input, textarea, select, summary") && getSelection().focusNode?.parentElement?.closest(".claim.opens");
  if (words) openCardOf(words);
});
document.addEventListener("toggle", ({ target }) => {
  if (!target.matches?.(".quote")) return;
  lightSentence();
  if (target.matches(":popover-open")) bringAbove(target);
}, { capture: true });
