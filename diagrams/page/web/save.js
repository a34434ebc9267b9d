// The state that is on show, as files: SVG from here, PDF by printing, TikZ by the command that makes it.
function svgText() {
  const svg = figure.querySelector("svg").cloneNode(true), root = getComputedStyle(document.documentElement);
  svg.querySelectorAll(".hit, .glow, .stops, [data-shut]").forEach(e => e.remove());
  svg.querySelectorAll(".on, .dim").forEach(e => e.classList.remove("on", "dim"));
  svg.setAttribute("role", "img");
  svg.querySelector("[aria-hidden]").removeAttribute("aria-hidden");
  const colors = data.colors.map((_, k) => `--c${k}:${root.getPropertyValue(`--c${k}`)};`).join("");
  const rules = [...document.styleSheets[0].cssRules].map(r => r.cssText).filter(r => /^(svg |\.[fs]\d)/.test(r)).join("\n");
  const style = `svg{${colors}--text:${root.getPropertyValue("--text")};--soft:${root.getPropertyValue("--soft")};--line:${root.getPropertyValue("--line")};background:${root.getPropertyValue("--paper")}}\n${rules}`;
  svg.prepend(Object.assign(document.createElementNS(SVG, "style"), { textContent: style }));
  return new XMLSerializer().serializeToString(svg);
}

function saveSvg() {
  const link = make("a", { download: `${data.file}.svg`, href: URL.createObjectURL(new Blob([svgText()], { type: "image/svg+xml" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function tikzCommand() {
  const names = [...new Set([...state.open].map(path => data.levels[factOf(path).b].name))];
  return `${data.command}${names.length ? ` --open ${names.join(",")}` : ""} -o ${data.file}.tex`;
}

function tikz() {
  const command = tikzCommand();
  say("TikZ of this state:", make("code", {}, command));
  if (navigator.clipboard) navigator.clipboard.writeText(command).then(() => $("about").append(make("p", {}, "It is on the clipboard.")), () => {});
}
