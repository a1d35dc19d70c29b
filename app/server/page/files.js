// Files that go with the next question: chosen, dropped or pasted, and named until they are sent.

import { button, h, byId } from "./dom.js";

let files = [];

// The file input and the list of chosen files, for forms that can send them.
export const fileInput = () => h("label", { class: "button attach" }, "Attach", h("input", { type: "file", multiple: true, class: "unseen", "data-files": true }));
export const fileList = () => h("ul", { class: "files", id: "files", "data-keep": true, "data-key": "files", "aria-label": "Files to send" });

export function setFiles(given) {
  files = [...given];
  byId("files")?.replaceChildren(...files.map(({ name }, at) => h("li", {}, name, button("detach", "×", { value: at, "aria-label": `Remove ${name}` }))));
}

export const addFiles = (given) => setFiles([...files, ...given]);
export const removeFile = (at) => setFiles(files.filter((_, index) => index !== at));

// As LangChain names them: content blocks of a message.
export const fileBlocks = () => Promise.all(files.map(async (file) => {
  const reader = new FileReader();
  const read = new Promise((resolve, reject) => Object.assign(reader, { onload: resolve, onerror: () => reject(new Error(`${file.name} cannot be read.`)) }));
  reader.readAsDataURL(file);
  await read;
  return { type: "file", base64: reader.result.split(",")[1] ?? "", mime_type: file.type, extras: { filename: file.name } };
}));

// The files of a sent message; those that could not be read with the reason.
export const sentFiles = (attached) => attached.length > 0 && h("ul", { class: "files" }, attached.map(({ name, reason }) =>
  h("li", { class: reason && "bad" }, name, reason && h("span", {}, `: not read, ${reason}`))));
