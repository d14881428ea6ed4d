import type { Environment } from "./environment.ts";
import { type LifecycleEvent, lifecycleDefaults, parseLifecycleEvents } from "./lifecycle-events.ts";

/** The lifecycle events to send, and the bus for them. */
export interface LifecycleSettings {
  notify: readonly LifecycleEvent[];
  bus: string;
}

/** Reads `LIFECYCLE_EVENTS` and `CARILLON_EVENTS_BUS`. */
export function lifecycleFrom(env: Environment): LifecycleSettings {
  const events = env["LIFECYCLE_EVENTS"] ?? "";
  const bus = env["CARILLON_EVENTS_BUS"] ?? "";
  try {
    return {
      notify: events === "" ? lifecycleDefaults : parseLifecycleEvents(events),
      bus: bus === "" ? "default" : bus,
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`The environment variable LIFECYCLE_EVENTS is "${events}"; ${why}.`);
  }
}
