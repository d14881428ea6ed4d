/**
 * Every line that Carillon logs, worded in one place: the event's name is what machines read, the sentence what people read.
 * `{field}` is filled in from the event's fields. Alphabetical by name.
 */
export const wording = {
  "api.failed": "{method} {path} failed: {error}",
  "api.request": "{method} {path} → {status} in {ms} ms",
  "postgres.leftover": "a Postgres of an earlier run was still up (process {pid}) and has been stopped",
  "postgres.up": "Postgres is up on port {port} after {ms} ms",
  "migration.applied": "migration {number} applied: {name}",
  "tick.done": "tick made {jobs} jobs in {parcels} parcels ({batches} batches, {ms} ms)",
} as const;

export type LogEvent = keyof typeof wording;
