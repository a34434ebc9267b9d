// The right side: the living figure, both sources, cost, what is read and weights of the model that is chosen.
import { $, make } from "./elements.js";

const TEXTS = new Set(["torch", "numpy", "cost", "reads", "weights"]);
const made = new Map(); // part -> what was made of this text and model
let frame = null;

export function showPart(part) {
  for (const tab of document.querySelectorAll("#parts [role=tab]")) {
    tab.setAttribute("aria-selected", tab.dataset.part === part);
    tab.tabIndex = tab.dataset.part === part ? 0 : -1;
  }
  $("figure").hidden = part !== "figure";
  $("text").hidden = !TEXTS.has(part);
  $("sees").hidden = part !== "sees";
  $("none").hidden = part === "sees" || made.has(part);
  if (TEXTS.has(part)) $("text").textContent = made.get(part)?.text ?? "";
  $("copy").hidden = !TEXTS.has(part) || !made.has(part);
}

// of: the text and the model (name) that it was made of.
export function keep(part, of, text, name) {
  made.set(part, { of, text });
  if (part === "figure") drawn(text, name);
}

// What stands in the place of what is not made yet.
export const waits = text => { $("none").textContent = text; };

export const isMade = (part, of) => made.get(part)?.of === of;
export const isShown = () => made.size > 0 && $("sees").hidden;
export const partText = part => made.get(part)?.text ?? "";
export const stale = on => $("results").classList.toggle("stale", on);

// The new figure takes the place of the old one once it is drawn; of the same model, with the same blocks open.
async function drawn(page, name) {
  const next = make("iframe", { class: "coming", src: "figure.html", sandbox: "allow-scripts allow-downloads allow-modals", title: "the living figure" });
  next.dataset.name = name;
  $("figure").append(next);
  await new Promise(resolve => next.addEventListener("load", resolve, { once: true }));
  const { view } = frame?.dataset.name === name ? await told(frame, { view: true }) : {};
  await told(next, { figure: page, view });
  if (!next.isConnected) return;
  next.classList.remove("coming");
  for (const other of [...$("figure").querySelectorAll("iframe")]) if (other !== next && other.compareDocumentPosition(next) & Node.DOCUMENT_POSITION_FOLLOWING) other.remove();
  frame = next;
}

// What a frame answers; nothing, if it does not within a moment.
function told({ contentWindow }, words) {
  return new Promise(resolve => {
    const hear = ({ data, source }) => { if (source === contentWindow) end(data); };
    const end = data => { removeEventListener("message", hear); clearTimeout(late); resolve(data); };
    const late = setTimeout(() => end({}), 2000);
    addEventListener("message", hear);
    contentWindow.postMessage(words, "*");
  });
}
