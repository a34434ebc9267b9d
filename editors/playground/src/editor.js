// The editor: colours, mistakes under their words with fixes at a click, lines that are locked.
import { defaultKeymap, history, historyKeymap, indentWithTab, redo, undo } from "@codemirror/commands";
import { bracketMatching, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { attn } from "./language.js";

const SEVERITIES = { error: "error", warning: "warning", advice: "info" };

// Further places that a mistake names, and lines that cannot be changed.
const setMarks = StateEffect.define(), setLocked = StateEffect.define();
const held = effect => StateField.define({
  create: () => Decoration.none,
  update: (marks, change) => change.effects.reduce((now, each) => (each.is(effect) ? each.value : now), marks.map(change.changes)),
  provide: field => EditorView.decorations.from(field),
});
const marks = held(setMarks), locked = held(setLocked);

function allowed(change) {
  if (!change.docChanged || change.effects.some(each => each.is(setLocked))) return true;
  let free = true;
  const ranges = change.startState.field(locked);
  change.changes.iterChangedRanges((from, to) => ranges.between(from, to, (start, end) => { if (to >= start && from <= end) free = false; }));
  return free;
}

// changed: told of the text after each change.
export function makeEditor(parent, changed) {
  const view = new EditorView({ parent, state: EditorState.create({ extensions: [
    lineNumbers(), lintGutter(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), attn, indentUnit.of("    "),
    syntaxHighlighting(classHighlighter), marks, locked, EditorState.transactionFilter.of(change => (allowed(change) ? change : [])),
    keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
    EditorView.contentAttributes.of({ "aria-label": "the spec", "aria-description": "Escape, then Tab, leaves it", autocapitalize: "off", autocorrect: "off", spellcheck: "false" }),
    EditorView.updateListener.of(update => { if (update.docChanged) changed(update.state.doc.toString()); }),
  ] }) });
  return {
    view,
    text: () => view.state.doc.toString(),
    undo: () => undo(view), redo: () => redo(view),
    // The same text, changed where it differs: whether what is locked let it.
    rewrite(text) {
      const old = this.text(), least = Math.min(old.length, text.length);
      let from = 0, after = 0;
      while (from < least && old[from] === text[from]) from++;
      while (after < least - from && old.at(-1 - after) === text.at(-1 - after)) after++;
      view.dispatch({ changes: { from, to: old.length - after, insert: text.slice(from, text.length - after) } });
      return this.text() === text;
    },
    // Another text.
    replace(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, effects: [setLocked.of(Decoration.none), setMarks.of(Decoration.none)] });
    },
    lock(ranges) {
      const found = ranges.flatMap(([from, to]) => lines(view.state, from, to).map(line => Decoration.line({ class: "locked", attributes: { title: "this is locked" } }).range(line.from)));
      const whole = ranges.map(([from, to]) => Decoration.mark({ class: "locked-text" }).range(from, to));
      view.dispatch({ effects: setLocked.of(Decoration.set([...found, ...whole], true)) });
    },
    apply(edits) {
      view.dispatch({ changes: edits.map(({ from, to, insert }) => ({ from, to, insert })), scrollIntoView: true });
      view.focus();
    },
    go(from) {
      view.dispatch({ selection: { anchor: Math.min(from, view.state.doc.length) }, scrollIntoView: true });
      view.focus();
    },
    // What was found in this very text.
    show(found) {
      const { doc } = view.state;
      const within = place => Math.min(place, doc.length);
      const diagnostics = found.map(each => ({
        from: within(each.from), to: within(each.to), severity: SEVERITIES[each.severity], source: each.code,
        message: each.message + (each.help ? `\n${each.help}` : ""),
        actions: each.edits.length ? [{ name: each.fix, apply: () => this.apply(each.edits) }] : [],
      }));
      const labels = found.filter(each => each.severity === "error").flatMap(each => each.labels.slice(1)).filter(label => label.to > label.from && label.to <= doc.length);
      view.dispatch(setDiagnostics(view.state, diagnostics));
      view.dispatch({ effects: setMarks.of(Decoration.set(labels.map(label => Decoration.mark({ class: "related", attributes: { title: label.text } }).range(label.from, label.to)), true)) });
    },
  };
}

function lines({ doc }, from, to) {
  const found = [];
  for (let line = doc.lineAt(from); ; line = doc.line(line.number + 1)) {
    found.push(line);
    if (line.to >= to || line.number === doc.lines) return found;
  }
}
