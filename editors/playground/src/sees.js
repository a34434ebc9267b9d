// Which item of the result hangs on which item of the input, as a table of dots: a leak is red.
import { $, make } from "./elements.js";

export function showSees(views) {
  if (!views) return $("sees").replaceChildren();
  const sees = views.sees ?? views.should.map(row => row.map(() => false));
  const rows = sees.map((row, item) => make("tr", {}, make("th", { scope: "row" }, String(item + 1)), ...row.map((sees, other) => {
    const should = views.should[item]?.[other] ?? false;
    const kind = sees && !should ? "leak" : !sees && should ? "blind" : sees ? "sees" : "";
    const words = { leak: "sees it, and must not", blind: "must see it, and does not", sees: "sees it", "": "does not see it" }[kind];
    return make("td", { class: kind, title: `item ${item + 1} ${words}: item ${other + 1}`, "aria-label": words });
  })));
  const head = make("tr", {}, make("td"), ...sees[0].map((_, other) => make("th", { scope: "col" }, String(other + 1))));
  $("sees").replaceChildren(
    make("p", {}, views.sees ? "Each row is an item of the result, each column an item of the inputs. A dot: the result changes when that item does."
      : "It cannot be run with such a mistake, which is marked in the spec. This is what each item of the result (a row) should see of the inputs (columns)."),
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)),
    make("p", { class: "key" }, make("i", { class: "sees" }), " sees it", make("i", { class: "leak" }), " must not", make("i", { class: "blind" }), " should"),
  );
}
