// The reader's place: a new text replaces only the blocks that differ from the one before, and what is in view stays where it was.

import { byId, morph } from "./dom.js";
import { lettersIn } from "./report.js";

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

// The blocks of a text, in the elements of the text before it where there are any: for equal words, and for others at the same position between those.
export function inPlaceOf(before, after) {
  const [old, names] = [before, after].map(namesOf), positions = new Map(old.map((name, at) => [name, at])), kept = new Set(names);
  let next = 0;
  return after.map((block, index) => {
    const equal = positions.get(names[index]) ?? -1, isChanged = !kept.has(old[next]) && before[next]?.nodeName === block.nodeName;
    const at = equal >= next ? equal : isChanged ? next : -1;
    if (at < 0) return block;
    next = at + 1;
    morph(before[at], block);
    return before[at];
  });
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

// The fraction of a pixel that the last scrolls left over, since pages scroll by whole pixels.
let owed = 0;

export function shift(pixels) {
  const whole = Math.round(pixels + owed);
  owed += pixels - whole;
  if (whole) scrollBy({ top: whole, behavior: "instant" });
}

// Changes the page; the first line in view that is still there afterwards stays where it was.
export function keepPlace(top, change) {
  const lines = linesInView(top, byId("dock").getBoundingClientRect().top);
  change();
  const [line, before] = lines.find(([each]) => each.isConnected && each.checkVisibility()) ?? [];
  if (line) shift(line.getBoundingClientRect().top - before);
}
