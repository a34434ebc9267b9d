// Bundles the scripts into a folder (argument), beside what they load there, with the licences of what is bundled.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const here = import.meta.dirname, out = process.argv[2];
const { metafile } = await build({
  absWorkingDir: here, entryPoints: ["src/main.js", "src/worker.js"], outdir: out, bundle: true, minify: true, format: "esm", target: "es2022",
  external: ["./pyodide/pyodide.mjs"], metafile: true, legalComments: "none",
});
for (const file of ["index.html", "figure.html", "style.css", "offline.js"]) copyFileSync(join(here, "src", file), join(out, file));
mkdirSync(join(out, "pyodide"), { recursive: true });
for (const file of ["pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"])
  copyFileSync(join(here, "node_modules/pyodide", file), join(out, "pyodide", file));

const folders = Object.keys(metafile.inputs).map(file => file.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//)?.[1]).filter(Boolean);
const parts = [...new Set(folders)].sort().map(folder => {
  const file = readdirSync(join(here, folder)).find(name => /^licen[cs]e/i.test(name));
  if (!file) throw new Error(`${folder} has no licence`);
  const { name, version } = JSON.parse(readFileSync(join(here, folder, "package.json"), "utf8"));
  return `${name} ${version}\n\n${readFileSync(join(here, folder, file), "utf8").trim()}\n`;
});
writeFileSync(join(out, "LICENSES.txt"), parts.join(`\n${"-".repeat(80)}\n\n`));
