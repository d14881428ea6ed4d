import { setImmediate } from "node:timers/promises";

/**
 * Counts what is under way in real time: statements, handlers, requests. A virtual clock moves only
 * while nothing is, so that the same test gives the same times on any machine.
 */
export class Activity {
  #underWay = 0;
  #onEnd: (() => void)[] = [];

  /** Marks the begin of something; the returned function marks its end, and may be called twice. */
  begin(): () => void {
    this.#underWay += 1;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#underWay -= 1;
      if (this.#underWay === 0) for (const resolve of this.#onEnd.splice(0)) resolve();
    };
  }

  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    const end = this.begin();
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** Resolves when nothing is under way, and nothing that has just ended begins anything more. */
  async idle(): Promise<void> {
    for (;;) {
      await setImmediate();
      if (this.#underWay > 0) await new Promise<void>((resolve) => this.#onEnd.push(resolve));
      else return;
    }
  }
}
