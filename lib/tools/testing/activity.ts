import { clearTimeout, setTimeout } from "node:timers";
import { setImmediate } from "node:timers/promises";

/** Shorter than the time limit of a test in most runners, so that the test fails with its reason. */
const patienceMs = 4_000;

/**
 * Counts what is under way in real time: statements, handlers, requests. A virtual clock moves only
 * while nothing is, so that the same test gives the same times on any machine.
 */
export class Activity {
  readonly #underWay = new Set<{ name: string | undefined }>();
  #onEnd: (() => void)[] = [];

  /** Marks the begin of something; the returned function marks its end, and may be called twice. */
  begin(name?: string): () => void {
    const activity = { name };
    this.#underWay.add(activity);
    return () => {
      this.#underWay.delete(activity);
      if (this.#underWay.size === 0) for (const resolve of this.#onEnd.splice(0)) resolve();
    };
  }

  /** `name` is that of a user's code, which may hang. */
  async during<Result>(work: () => Promise<Result>, name?: string): Promise<Result> {
    const end = this.begin(name);
    try {
      return await work();
    } finally {
      end();
    }
  }

  /**
   * Resolves when nothing is under way, and nothing that has just ended begins anything more. Throws
   * if a user's code does not end: the clock would never move on.
   */
  async idle(): Promise<void> {
    for (;;) {
      // A worker waits for a turn of the event loop itself, for parcels that it settles together.
      await setImmediate();
      await setImmediate();
      if (this.#underWay.size === 0) return;
      const outcome = await this.#ended();
      const names = [...this.#underWay].map(({ name }) => name);
      if (outcome === "late" && names.length > 0 && names.every((name) => name !== undefined))
        throw new Error(
          `Still running after ${patienceMs / 1_000} s: ${names.join(", ")}. The clock of the test stands until it ends; handlerTakes() gives it time on that clock.`,
        );
    }
  }

  #ended(): Promise<"ended" | "late"> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve("late"), patienceMs);
      this.#onEnd.push(() => {
        clearTimeout(timer);
        resolve("ended");
      });
    });
  }
}
