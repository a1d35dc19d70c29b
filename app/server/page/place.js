// The reader's place: a new text replaces only the blocks that differ from the one before, and what is in view stays where it was.

import { byId, h, morph } from "./dom.js";
import { lettersIn } from "./report.js";

// Blocks of a chunk, and blocks that are changed at once.
export const CHUNK = 20;
const PIECE = 60;
// Lines of a report, and the distance between the points where they are looked for.
const LINES = ".report :is(h2, h3, h4, h5, h6, p, li, tr, pre)", STEP = 24;

// Names of blocks, equal for equal words.
function namesOf(blocks) {
  const counts = new Map();
  return blocks.map((block) => {
    const name = `${block.nodeName} ${lettersIn(block)}`, times = counts.get(name) ?? 0;
    counts.set(name, times + 1);
    return `${name} ${times}`;
  });
}

// For each block of a text, the position of the block before it that it replaces: one of equal words, or one between those; -1 for none.
function partnersOf(before, after) {
  const [old, names] = [before, after].map(namesOf), positions = new Map(old.map((name, at) => [name, at])), kept = new Set(names);
  let next = 0;
  return after.map((block, index) => {
    const equal = positions.get(names[index]) ?? -1, isChanged = !kept.has(old[next]) && before[next]?.nodeName === block.nodeName;
    const at = equal >= next ? equal : isChanged ? next : -1;
    if (at >= 0) next = at + 1;
    return at;
  });
}

// Long texts are laid out only where they are in view, by chunks of blocks.
export const blocksIn = (text) => [...text.querySelectorAll(":scope > .chunk > *")];

export function chunksOf(blocks) {
  const starts = Array.from({ length: Math.ceil(blocks.length / CHUNK) }, (_, at) => at * CHUNK);
  return starts.map((start) => h("div", { class: "chunk" }, blocks.slice(start, start + CHUNK)));
}

// Puts blocks into the chunks of a text in place of the `old` ones, in the elements of these where there are any. Returns the blocks, and those that still look as before.
export function arrange(text, old, after) {
  const partners = partnersOf(old, after), blocks = after.map((block, index) => old[partners[index]] ?? block), kept = new Set(blocks);
  for (const element of old) if (!kept.has(element)) element.remove();
  for (const [at, element] of blocks.entries()) {
    if (element.isConnected) continue;
    if (at) blocks[at - 1].after(element);
    else text.querySelector(":scope > .chunk").prepend(element);
  }
  return { blocks, stale: after.map((fresh, index) => ({ element: blocks[index], fresh })).filter(({ element, fresh }) => element !== fresh) };
}

// Changes the blocks of a draft into those of the finished report, a piece at a time, so that a long report does not stop the page: first those in view.
export async function becomeReport(draft, after, top, pause) {
  const [line] = linesInView(top, byId("dock").getBoundingClientRect().top), { stale } = keepPlace(top, () => arrange(draft, blocksIn(draft), after));
  const seen = Math.max(0, stale.findIndex(({ element }) => element.contains(line?.[0])));
  const order = [...stale.keys()].sort((left, right) => Math.abs(left - seen) - Math.abs(right - seen));
  for (let at = 0; at < order.length; at += PIECE) {
    if (at) await pause();
    keepPlace(top, () => order.slice(at, at + PIECE).forEach((index) => morph(stale[index].element, stale[index].fresh)));
  }
}

// The lines of reports in view, first those that begin in it.
function linesInView(top, bottom) {
  const { left, width } = byId("column").getBoundingClientRect(), lines = new Set();
  for (let y = top; y < bottom; y += STEP) {
    for (const element of document.elementsFromPoint(left + width / 2, y)) {
      const line = element.closest(LINES);
      if (line && !line.closest("aside")) lines.add(line);
    }
  }
  const { begun = [], beginning = [] } = Object.groupBy([...lines].map((line) => [line, line.getBoundingClientRect().top]), ([, at]) => (at < top ? "begun" : "beginning"));
  return [...beginning, ...begun];
}

// By how much the last scrolls fell short: pages scroll by whole pixels, and not beyond their end, which may be further away after the next change.
let owed = 0;
export const forgetOwed = () => (owed = 0);

export function shift(pixels) {
  const whole = Math.round(pixels + owed), before = scrollY;
  if (whole) scrollBy({ top: whole, behavior: "instant" });
  owed += pixels - (scrollY - before);
}

// Changes the page and returns what `change` does; the first line in view that is still there afterwards stays where it was.
export function keepPlace(top, change) {
  const lines = linesInView(top, byId("dock").getBoundingClientRect().top), result = change();
  const [line, before] = lines.find(([each]) => each.isConnected && each.checkVisibility()) ?? [];
  if (line) shift(line.getBoundingClientRect().top - before);
  return result;
}
