/** How a field of the form is drawn. Fields that are not listed are edited in the JSON. */
export type FormField = {
  path: readonly string[];
  label: string;
  /** Beneath the field, such as a unit or an example. */
  hint?: string;
  /** Left empty it stays in the JSON, as an empty text. */
  staysEmpty?: true;
} & (
  | { kind: "text" | "number" | "texts" | "flag" }
  | { kind: "choice"; choices: readonly string[] }
  /** A text with suggestions, which are loaded by their name. */
  | { kind: "suggested"; from: "zones" | "calendars" }
);

const fixedTimes = "by default a fixed time runs right after the gap";

export const keyField: FormField = {
  path: ["key"],
  label: "Key",
  hint: "made by the server if empty",
  kind: "text",
};

export const zoneField: FormField = {
  path: ["timezone"],
  label: "Time zone",
  kind: "suggested",
  from: "zones",
};

export const timeFields: readonly FormField[] = [
  {
    path: ["spread"],
    label: "Spread",
    hint: "schedules start at different moments within this time; up to 24h",
    kind: "text",
  },
  {
    path: ["startsAt"],
    label: "Starts at",
    hint: "no run before it, e.g. 2026-12-01T09:00:00Z",
    kind: "text",
  },
  {
    path: ["endsAt"],
    label: "Ends at",
    hint: "no run at or after it, e.g. 2027-12-01T09:00:00Z",
    kind: "text",
  },
  { path: ["calendar", "name"], label: "Calendar", kind: "suggested", from: "calendars" },
  {
    path: ["calendar", "on"],
    label: "On its days",
    hint: "by default runs on these days are skipped",
    kind: "choice",
    choices: ["skip", "next", "previous"],
  },
  {
    path: ["dst", "gap"],
    label: "A time that does not exist",
    hint: fixedTimes,
    kind: "choice",
    choices: ["next", "skip"],
  },
  {
    path: ["dst", "overlap"],
    label: "A time that comes twice",
    hint: "by default fixed times run at the first one, and repeating ones at both",
    kind: "choice",
    choices: ["first", "last", "both"],
  },
  { path: ["maxFires"], label: "Most runs", kind: "number" },
  {
    path: ["slot"],
    label: "Round up to",
    hint: "starts are moved to the next multiple of it (slot); 1s to 24h",
    kind: "text",
  },
];

export const targetKinds = ["queue", "handler", "event", "webhook", "lambda"] as const;
export type TargetKind = (typeof targetKinds)[number];

/** Beneath the kind: which kinds need a set-up. */
export const targetHints: Readonly<Record<TargetKind, string>> = {
  queue:
    "The queue must exist; locally a missing queue is made. Without any set-up an event works: it goes to the account’s default bus.",
  handler: "The handler must be deployed with Carillon.",
  event: "Goes to the account’s default bus, and needs no set-up.",
  webhook: "Needs a public HTTPS address.",
  lambda: "The function must exist; locally it needs an emulator of Lambda.",
};

export const targetFields: Readonly<Record<TargetKind, readonly FormField[]>> = {
  queue: [
    { path: ["target", "queue"], staysEmpty: true, label: "Queue", hint: "name, URL or ARN", kind: "text" },
    { path: ["target", "groupId"], label: "Message group", hint: "for FIFO queues", kind: "text" },
  ],
  handler: [{ path: ["target", "handler"], staysEmpty: true, label: "Handler", kind: "text" }],
  event: [
    { path: ["target", "event", "bus"], label: "Event bus", hint: "empty: the default bus", kind: "text" },
    { path: ["target", "event", "source"], label: "Source", kind: "text" },
    { path: ["target", "event", "detailType"], label: "Detail type", kind: "text" },
  ],
  webhook: [
    { path: ["target", "webhook", "url"], label: "URL", kind: "text" },
    { path: ["target", "webhook", "method"], label: "Method", kind: "choice", choices: ["POST", "PUT"] },
  ],
  lambda: [
    { path: ["target", "lambda"], staysEmpty: true, label: "Function", hint: "name or ARN", kind: "text" },
    { path: ["target", "invocation"], label: "Invocation", kind: "choice", choices: ["async", "sync"] },
  ],
};

export const labelFields: readonly FormField[] = [
  { path: ["group"], label: "Group", kind: "text" },
  { path: ["tags"], label: "Tags", hint: "separated by commas", kind: "texts" },
  { path: ["description"], label: "Description", kind: "text" },
];

export const policyFields: readonly FormField[] = [
  { path: ["retry", "attempts"], label: "Attempts", kind: "number" },
  {
    path: ["retry", "backoff"],
    label: "Backoff",
    kind: "choice",
    choices: ["exponential", "linear", "fixed", "list"],
  },
  { path: ["retry", "base"], label: "First wait", kind: "text" },
  { path: ["retry", "max"], label: "Longest wait", kind: "text" },
  { path: ["retry", "jitter"], label: "Jitter", kind: "choice", choices: ["full", "none"] },
  { path: ["timeout"], label: "Timeout of an attempt", kind: "text" },
  { path: ["catchUp", "policy"], label: "Missed runs", kind: "choice", choices: ["latest", "all", "skip"] },
  { path: ["catchUp", "within"], label: "Missed runs, not older than", kind: "text" },
  { path: ["catchUp", "limit"], label: "Missed runs, at most", kind: "number" },
  { path: ["deadline"], label: "Deadline", hint: "a later start is skipped", kind: "text" },
  { path: ["overlap"], label: "Overlap", kind: "choice", choices: ["allow", "skip", "queue"] },
  { path: ["priority"], label: "Priority", kind: "choice", choices: ["high", "normal", "low"] },
  { path: ["holdAfter"], label: "Hold after dead jobs", kind: "number" },
  {
    path: ["delivery"],
    label: "Record of runs",
    hint: "ledger: each run is a job with its outcome; pulse: runs leave no record and are not retried",
    kind: "choice",
    choices: ["ledger", "pulse"],
  },
  { path: ["serial"], label: "One at a time in its group", kind: "flag" },
  { path: ["deleteOnEnd"], label: "Delete it when it has ended", kind: "flag" },
];
