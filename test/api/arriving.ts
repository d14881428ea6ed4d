const at = "2026-03-02T11:00:00.000Z";

/** A schedule of another installation, as a move carries it. */
export function arriving(id: string, key: string, createdBy = "ann"): object {
  const none = { onceAt: null, startsAt: null, endsAt: null, expression: null, timezone: null, dst: null };
  const cadence = { ...none, firstAt: at, everyMs: 3_600_000, calendarOn: null, calendar: null };
  const spec = { cadence, body: { when: "every 1h" }, target: { queue: "demo" }, payload: null };
  const state = { version: 1, specVersion: 1, change: "created", held: false, heldUntil: null };
  const schedule = {
    ...{ key, version: 1, specVersion: 1, freshVersion: null, createdAt: at, createdBy, fires: null },
    ...{ failures: null, heldSince: at, heldTo: null, holds: [] },
    versions: [{ ...state, changedAt: at, changedBy: "ann", spec }],
  };
  const document = JSON.stringify({ format: 1, id, part: 0, schedule, jobs: [], owed: [] });
  return { id, part: 0, key, document };
}
