// Opens a cited file as it is. The server sends it, since browsers open no local files from a page.

import { button, h } from "./dom.js";
import * as server from "./server.js";

// Files that browsers show; all others are downloaded.
const SHOWN = /\.(?:pdf|png|jpe?g|webp|txt|text|log|md|markdown|rst|csv|tsv)$/i;

export const fileButton = (number, name, at) => button("open-file", `Open the file${at ? ` at page ${at}` : ""}`, { value: number, title: name, "data-page": at });

export async function openFile({ value, title, dataset }, thread, of) {
  // Opened within the click: later, the browser would block it.
  const tab = SHOWN.test(title) ? open("", "_blank") : null;
  try {
    const url = URL.createObjectURL(await server.blob(`/research/runs/${thread}/sources/${value}/file?${of}`));
    if (tab) tab.location = dataset.page ? `${url}#page=${dataset.page}` : url;
    else h("a", { href: url, download: title }).click();
  } catch (error) {
    tab?.close();
    throw error;
  }
}
