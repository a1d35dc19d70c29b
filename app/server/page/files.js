// Files that go with the next question: chosen, dropped or pasted, checked and read in pieces, and named until they are sent.

import { button, byId, h, show } from "./dom.js";
import { viewHere } from "./drafts.js";

// The size of a piece is a multiple of 3, so that the base64 of the pieces can be joined. The progress of long files is shown.
const PIECE = 3 << 16, LONG = 16 * PIECE;
// The files of each view, by its address.
const files = new Map();
const filesHere = () => files.get(viewHere()) ?? [];

// The file input and the list of chosen files, for forms that can send them.
export const fileInput = () => h("label", { class: "button attach" }, "Attach", h("input", { type: "file", multiple: true, class: "unseen", "data-files": true }));
export const fileList = () => h("ul", { class: "files", id: "files", "data-keep": true, "data-key": "files", "aria-label": "Files to send" });

const row = ({ file, share, fault, key }) => h("li", { "data-key": key, class: fault && "bad" }, file.name, !fault && share < 100 && file.size > LONG && h("span", { class: "quiet" }, ` · reading, ${share} %`),
  fault && h("span", { role: "alert" }, `: ${fault}`), button("detach", "×", { value: key, "aria-label": `Remove ${file.name}` }));

export function drawFiles() {
  const list = byId("files"), held = filesHere();
  if (list && (held.length || list.hasChildNodes())) show(list, held.map(row));
}

export function setFiles(held) {
  files.set(viewHere(), held);
  drawFiles();
}

export const removeFile = (key) => setFiles(filesHere().filter((entry) => entry.key !== key));

function base64(piece) {
  const reader = new FileReader();
  return new Promise((resolve, reject) => {
    Object.assign(reader, { onload: () => resolve(reader.result.slice(reader.result.indexOf(",") + 1)), onerror: () => reject(reader.error) });
    reader.readAsDataURL(piece);
  });
}

// The content as base64. No piece is kept in memory as text, and between two of them the page goes on.
async function read(entry, isHere, faultInside) {
  const { file } = entry, parts = [];
  entry.fault = await faultInside(file);
  for (let at = 0; at < file.size && !entry.fault && isHere(); at += PIECE) {
    parts.push(new Blob([await base64(file.slice(at, at + PIECE))]));
    const share = Math.min(100, Math.floor((at + PIECE) / file.size * 100));
    if (share !== entry.share) {
      entry.share = share;
      drawFiles();
    }
  }
  entry.base64 = new Blob(parts);
}

// Files that the server would refuse are refused at once; `limits` are those of the server's offer.
async function arrive(given, limits) {
  const here = viewHere(), { faultInside, faultOutside } = await import("./file_faults.js");
  for (const file of given) {
    const held = filesHere(), entry = { file, share: 0, key: String(Math.random()), base64: null };
    entry.fault = faultOutside(file, held.filter(({ fault }) => !fault).map((other) => other.file), limits);
    setFiles([...held, entry]);
    if (entry.fault) continue;
    const isHere = () => (files.get(here) ?? []).includes(entry);
    entry.whenRead = read(entry, isHere, faultInside).catch(() => (entry.fault = "it cannot be read; of a folder, attach the files in it")).then(drawFiles);
  }
}

let arriving = null;
export const addFiles = (given, limits) => (arriving = arrive(given, limits));

// As LangChain names them: content blocks of a message.
export async function fileBlocks() {
  await arriving;
  await Promise.all(filesHere().map(({ whenRead }) => whenRead));
  return filesHere().filter(({ fault }) => !fault).map(({ file, base64: content }) => ({ type: "file", base64: content, mime_type: file.type, extras: { filename: file.name } }));
}

// Such a file has arrived, and is read when a question begins.
const NEW = "new";
// The files of a sent message; those that could not be read with the reason.
export const sentFiles = (attached, isAtWork) => attached.length > 0 && h("ul", { class: "files" }, attached.map(({ name, reason, code }) => (code === NEW
  ? h("li", {}, name, h("span", { class: "quiet" }, isAtWork ? " · being read" : ` · ${reason}`))
  : h("li", { class: reason && "bad" }, name, reason && h("span", {}, `: not read, ${reason}`)))));
