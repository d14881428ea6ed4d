/** The lifecycle events that can be sent to the bus, as `carillon.job.` and one of these. */
export const lifecycleEvents = ["started", "succeeded", "failed", "dead", "skipped", "missed"] as const;

export type LifecycleEvent = (typeof lifecycleEvents)[number];

/** Events that need attention, and that do not happen all day. */
export const lifecycleDefaults: readonly LifecycleEvent[] = ["dead", "missed"];

/** Reads a list with commas, or `none`. Throws if a name is unknown. */
export function parseLifecycleEvents(text: string): readonly LifecycleEvent[] {
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  if (names.length === 1 && names[0] === "none") return [];
  const unknown = names.filter((name) => !lifecycleEvents.some((event) => event === name));
  if (names.length === 0 || unknown.length > 0) {
    const those = unknown.length === 0 ? "" : `, not ${unknown.join(", ")}`;
    throw new Error(
      `it takes some of ${lifecycleEvents.join(", ")}, with commas between them, or none${those}`,
    );
  }
  return lifecycleEvents.filter((event) => names.includes(event));
}
