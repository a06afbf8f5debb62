// A clock that tests move: while it is in place, timers and dates are its own.

export class Clock {
  now = 0;
  timers = new Map();
  lastID = 0;
  saved = {};

  constructor(t) {
    const replace = (name, value) => { this.saved[name] = globalThis[name]; globalThis[name] = value; };
    const start = (work, delay, repeats) => {
      this.timers.set(++this.lastID, { work, at: this.now + delay, delay: repeats ? delay : undefined });
      return this.lastID;
    };
    replace("setTimeout", (work, delay = 0) => start(work, delay, false));
    replace("setInterval", (work, delay) => start(work, delay, true));
    for (const name of ["clearTimeout", "clearInterval"]) replace(name, (id) => { this.timers.delete(id); });
    this.dateNow = Date.now;
    Date.now = () => this.now;
    t.after(() => this.remove());
  }

  remove() {
    Object.assign(globalThis, this.saved);
    Date.now = this.dateNow;
  }

  tick(time) {
    const end = this.now + time;
    for (;;) {
      const next = [...this.timers].filter(([, timer]) => timer.at <= end).sort(([, a], [, b]) => a.at - b.at)[0];
      if (!next) break;
      const [id, timer] = next;
      this.now = timer.at;
      timer.delay === undefined ? this.timers.delete(id) : (timer.at += timer.delay);
      timer.work();
    }
    this.now = end;
  }
}
