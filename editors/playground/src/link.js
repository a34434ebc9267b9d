// A spec in the fragment of an address, which no server sees: "#1." and the text, deflated, in base64 of its own kind for
// addresses. 1 is the version: a later form has another number, and old links stay readable.
const VERSION = "1";
const MOST = 100_000; // bytes of a text

export class BadLink extends Error {}

export async function toFragment(text) {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return `#${VERSION}.${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

// The text of a fragment; null if it holds none. Throws BadLink for one that cannot be read.
export async function fromFragment(fragment) {
  const [, version, coded] = /^#(\d+)\.(.*)$/s.exec(fragment) ?? [];
  if (version === undefined) return null;
  if (version !== VERSION) throw new BadLink(`This link is of version ${version}, and this playground reads version ${VERSION}.`);
  try {
    const binary = atob(coded.replaceAll("-", "+").replaceAll("_", "/"));
    const packed = Uint8Array.from(binary, character => character.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(await through(new DecompressionStream("deflate-raw"), packed));
  } catch (problem) {
    throw problem instanceof BadLink ? problem : new BadLink("This link is damaged: a part of it is missing or was changed.");
  }
}

async function through(stream, bytes) {
  const parts = [];
  let size = 0;
  for await (const part of pieces(new Blob([bytes]).stream().pipeThrough(stream))) {
    parts.push(part);
    if ((size += part.length) > MOST) throw new BadLink(`A link holds at most ${MOST / 1000} kB of text.`);
  }
  const all = new Uint8Array(size);
  parts.reduce((at, part) => (all.set(part, at), at + part.length), 0);
  return all;
}

async function* pieces(stream) {
  const reader = stream.getReader();
  for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) yield value;
}
