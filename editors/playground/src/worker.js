// Python with attnc in it, in a thread of its own. A question is JSON, and so is its answer (src/attnc/playground/answers.py).
import { loadPyodide } from "./pyodide/pyodide.mjs";

const site = { extractDir: "" };
const ready = start();
ready.then(() => postMessage({ ready: true }), problem => postMessage({ broken: String(problem) }));

async function start() {
  const indexURL = new URL("pyodide/", import.meta.url).href;
  const [python, attnc] = await Promise.all([loadPyodide({ indexURL }), bytes("attnc.zip")]);
  site.extractDir = python.runPython("import sysconfig; sysconfig.get_path('purelib')");
  python.unpackArchive(attnc, "zip", site);
  return { python, answer: python.runPython("from attnc.playground.answers import answer; answer") };
}

async function bytes(name) {
  const response = await fetch(new URL(name, import.meta.url));
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return response.arrayBuffer();
}

// NumPy is unpacked when something asks for it: a right spec is checked, drawn and compiled without.
async function answered(number, question) {
  const { python, answer } = await ready;
  try {
    return answer(question);
  } catch (bug) {
    if (!/No module named 'numpy'/.test(bug.message)) throw bug;
  }
  python.unpackArchive(await bytes("numpy.zip"), "zip", site);
  python.runPython("import importlib; importlib.invalidate_caches(); import numpy");
  postMessage({ number, anew: true }); // that is no part of the answer, and takes seconds on a telephone
  return answer(question);
}

onmessage = async ({ data: { number, question } }) => {
  try {
    postMessage({ number, answer: await answered(number, question) });
  } catch (bug) {
    postMessage({ number, bug: String(bug.message ?? bug).trim().split("\n").at(-1) });
  }
};
