// One Python at work. Questions are answered one by one; of those that wait, a newer one of the same kind takes the
// place of the older. What takes too long is ended, and a new Python is started.
export class TooLong extends Error {}
export class Broken extends Error {}

export class Python {
  #worker = null;
  #waiting = new Map(); // kind -> task
  #busy = null;
  #count = 0;

  // seconds: for an answer, once Python has started.
  constructor(seconds) {
    this.seconds = seconds;
  }

  start() {
    if (this.#worker) return;
    this.#worker = new Worker("worker.js", { type: "module" });
    this.ready = false;
    this.#worker.onmessage = ({ data }) => this.#told(data);
    this.#worker.onerror = event => this.#told({ broken: event.message || "the worker could not be loaded" });
  }

  // The answer to a question; null if a newer one of its kind came meanwhile.
  ask(question, kind = question.ask) {
    this.start();
    return new Promise((resolve, reject) => {
      this.#waiting.get(kind)?.resolve(null);
      this.#waiting.set(kind, { question, resolve, reject });
      this.#next();
    });
  }

  #next() {
    if (this.#busy || !this.ready || !this.#waiting.size) return;
    const [kind, task] = this.#waiting.entries().next().value;
    this.#waiting.delete(kind);
    this.#busy = { ...task, number: ++this.#count, timer: setTimeout(() => this.#end(new TooLong(`it took more than ${this.seconds} seconds, and was ended`)), this.seconds * 1000) };
    this.#worker.postMessage({ number: this.#count, question: JSON.stringify(task.question) });
  }

  #told(data) {
    if (data.ready) this.ready = true;
    else if (data.broken) return this.#end(new Broken(data.broken));
    else if (data.number !== this.#busy?.number) return;
    else {
      clearTimeout(this.#busy.timer);
      if (data.bug === undefined) this.#busy.resolve(JSON.parse(data.answer));
      else this.#busy.reject(new Broken(data.bug));
      this.#busy = null;
    }
    this.#next();
  }

  #end(problem) {
    this.#worker.terminate();
    this.#worker = null;
    clearTimeout(this.#busy?.timer);
    this.#busy?.reject(problem);
    this.#busy = null;
    if (problem instanceof TooLong) return this.start();
    for (const task of this.#waiting.values()) task.reject(problem);
    this.#waiting.clear();
  }
}
