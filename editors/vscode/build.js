// Bundles the extension into dist/, with the licences of what is bundled.
"use strict";

const { build } = require("esbuild");
const fs = require("node:fs");
const path = require("node:path");

async function main() {
  const { metafile } = await build({
    absWorkingDir: __dirname,
    entryPoints: ["src/extension.js"],
    outfile: "dist/extension.js",
    bundle: true,
    minify: true,
    platform: "node",
    target: "node18",
    external: ["vscode"],
    metafile: true,
  });
  const packages = Object.keys(metafile.inputs)
    .map((file) => file.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//))
    .filter(Boolean)
    .map((found) => found[1]);
  const parts = [...new Set(packages)].sort().map((folder) => {
    const name = fs.readdirSync(path.join(__dirname, folder)).find((file) => /^licen[cs]e/i.test(file));
    if (!name) throw new Error(`${folder} has no licence`);
    const title = folder.replace(/^.*node_modules\//, "");
    return `${title}\n${"=".repeat(title.length)}\n\n${fs.readFileSync(path.join(__dirname, folder, name), "utf8").trim()}\n`;
  });
  fs.writeFileSync(path.join(__dirname, "dist", "LICENSES.txt"), parts.join("\n\n"));
}

main();
