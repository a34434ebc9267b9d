// One Python at work. Questions are answered one by one; of those that wait, a newer one of the same kind takes the
// place of the older. What takes too long is ended, and a new Python is started. So is, where that is asked for, work on a
// text that is no longer there, once it has lasted as long as a start does.
export class TooLong extends Error {}
export class Broken extends Error {}
class Old extends Error {}

export class Python {
  #worker = null;
  #waiting = new Map(); // kind -> task
  #busy = null;
  #count = 0;

  // seconds: for an answer, once Python has started. hasty: whether work on an old text is ended.
  constructor(seconds, hasty = false) {
    Object.assign(this, { seconds, hasty, starting: 0 });
  }

  start() {
    if (this.#worker) return;
    this.#worker = new Worker("worker.js", { type: "module" });
    this.ready = false;
    this.begun = performance.now();
    this.#worker.onmessage = ({ data }) => this.#told(data);
    this.#worker.onerror = event => this.#told({ broken: event.message || "the worker could not be loaded" });
  }

  // The answer to a question; null if a newer one of its kind came meanwhile.
  ask(question, kind = question.ask) {
    this.start();
    return new Promise((resolve, reject) => {
      this.#waiting.get(kind)?.resolve(null);
      this.#waiting.set(kind, { question, resolve, reject });
      this.#hurry(question.text);
      this.#next();
    });
  }

  #hurry(text) {
    const busy = this.#busy;
    if (!this.hasty || !busy || busy.hurried || busy.question.text === text) return;
    busy.hurried = setTimeout(() => this.#end(new Old()), Math.max(0, this.starting - (performance.now() - busy.begun)));
  }

  #next() {
    if (this.#busy || !this.ready || !this.#waiting.size) return;
    const [kind, task] = this.#waiting.entries().next().value;
    this.#waiting.delete(kind);
    this.#busy = { ...task, begun: performance.now(), number: ++this.#count };
    this.#wait();
    this.#worker.postMessage({ number: this.#count, question: JSON.stringify(task.question) });
  }

  #wait() {
    clearTimeout(this.#busy.timer);
    this.#busy.timer = setTimeout(() => this.#end(new TooLong(`it took more than ${this.seconds} seconds, and was ended`)), this.seconds * 1000);
  }

  #told(data) {
    if (data.ready) {
      this.ready = true;
      this.starting = performance.now() - this.begun;
    }
    else if (data.broken) return this.#end(new Broken(data.broken));
    else if (data.number !== this.#busy?.number) return;
    else if (data.anew) return this.#wait();
    else {
      this.#calm();
      if (data.bug === undefined) this.#busy.resolve(JSON.parse(data.answer));
      else this.#busy.reject(new Broken(data.bug));
      this.#busy = null;
    }
    this.#next();
  }

  #calm() {
    clearTimeout(this.#busy?.timer);
    clearTimeout(this.#busy?.hurried);
  }

  #end(problem) {
    this.#worker.terminate();
    this.#worker = null;
    this.#calm();
    if (problem instanceof Old) this.#busy?.resolve(null);
    else this.#busy?.reject(problem);
    this.#busy = null;
    if (problem instanceof TooLong || problem instanceof Old) return this.start();
    for (const task of this.#waiting.values()) task.reject(problem);
    this.#waiting.clear();
  }
}
