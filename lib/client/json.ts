/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** An instant as answers write it: `2026-12-01T09:00:00.000Z`. */
export type InstantText = string;

/** An instant in a request: a text as in RFC 3339, or a Date. */
export type Instant = string | Date;

/** A duration such as `30s`, `1h30m`, `2d`. */
export type DurationText = string;
