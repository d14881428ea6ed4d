import type { Carillon } from "./carillon.ts";
import { minute } from "./instants.ts";

/** Moves straight to an instant, with one tick and one pass of the workers there. */
export async function jump({ clock, tick, work }: Carillon, until: Date): Promise<void> {
  await clock.setNow(until);
  await tick();
  await work();
}

/**
 * Lets the time pass as in production: a tick each minute, and every message worked when it becomes
 * visible.
 */
export async function live({ clock, tick, work }: Carillon, until: Date): Promise<void> {
  while (clock.now() < until) {
    await tick();
    await work();
    await clock.setNow(new Date(Math.min(until.getTime(), clock.now().getTime() + minute)));
  }
  await tick();
  await work();
}
