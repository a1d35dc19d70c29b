// Tries all addresses in each way there is, then shows what came of it; the test fills in the words in capitals.
const tried = [];
const ask = async (name, attempt) => {
    try { tried.push(`${name}: got ${await attempt()}`); } catch { tried.push(`${name}: refused`); }
};
const add = (kind, fields) => document.body.appendChild(Object.assign(document.createElement(kind), fields));
for (const href of ADDRESSES) {
    await ask(href, async () => (await fetch(href, {mode: "no-cors"})).type);
    for (const kind of ["iframe", "img", "script", "embed"]) add(kind, {src: href});
    for (const rel of ["prefetch", "preconnect", "dns-prefetch", "manifest"]) add("link", {rel, href});
    window.open(href);
    try { navigator.sendBeacon(href, "x"); } catch {}
}
const opened = (thing) => new Promise((yes, no) => { thing.onopen = yes; thing.onerror = no; });
await ask("socket", () => opened(new WebSocket("ws://INNER/")));
await ask("events", () => opened(new EventSource("http://INNER/")));
await ask("post", async () => (await fetch("/posted", {method: "POST", body: "x"})).status);
await ask("service worker", async () => {
    const worker = await navigator.serviceWorker.register("/sw.js");
    return worker.active || worker.installing;
});
await ask("worker", () => new Promise((yes, no) => {
    const code = `fetch("http://INNER/x", {mode: "no-cors"}).then(() => postMessage(1), () => postMessage(0))`;
    new Worker(URL.createObjectURL(new Blob([code]))).onmessage = (event) => event.data ? yes() : no();
}));
const peer = new RTCPeerConnection({iceServers: [{urls: "stun:127.0.0.1:UDP"}]});
peer.createDataChannel("x");
await peer.setLocalDescription(await peer.createOffer());
await ask("peer", () => new Promise((yes, no) => {
    peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && no();
}));
add("a", {href: "data:text/plain,x", download: "left.txt"}).click();
alert("1"); confirm("2"); prompt("3");
location = "http://INNER/";
add("form", {action: "file:///etc/passwd"}).submit();
for (const innerText of tried) add("p", {innerText});
