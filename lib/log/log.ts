import { fieldText, plainValue } from "./field-text.ts";
import { escaped } from "./unprintable.ts";
import { type LogEvent, wording } from "./wording.ts";

/**
 * Ids, states, counts and durations. Payloads, tokens, headers and addresses with secrets must not
 * be in them.
 */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type LogLevel = "info" | "warn" | "error";

/** Call its methods on the log itself: they may need `this`. */
export interface Log {
  info(this: Log, event: LogEvent, fields?: LogFields): void;
  warn(this: Log, event: LogEvent, fields?: LogFields): void;
  error(this: Log, event: LogEvent, fields?: LogFields): void;
}

/** The log of foreign code, which chooses its own events. It is a `Log` too. */
export interface HandlerLog {
  info(this: HandlerLog, event: string, fields?: LogFields): void;
  warn(this: HandlerLog, event: string, fields?: LogFields): void;
  error(this: HandlerLog, event: string, fields?: LogFields): void;
}

type Write = (line: string) => void;

const toStdout: Write = (line) => {
  process.stdout.write(`${line}\n`);
};

function makeLog(emit: (level: LogLevel, event: string, fields: LogFields) => void): HandlerLog {
  return {
    info: (event, fields = {}) => emit("info", event, fields),
    warn: (event, fields = {}) => emit("warn", event, fields),
    error: (event, fields = {}) => emit("error", event, fields),
  };
}

/**
 * One JSON object per line, for CloudWatch and other machines. It contains the trace if X-Ray
 * records this invocation.
 */
export function jsonLog(write: Write = toStdout, trace: () => string | undefined = sampledTrace): HandlerLog {
  return makeLog((level, event, fields) => write(jsonLine({ level, event, trace: trace(), ...fields })));
}

/** A value that JSON cannot hold, such as a circle, must not fail the handler that logs it. */
function jsonLine(line: LogFields): string {
  try {
    return JSON.stringify(line);
  } catch {
    return JSON.stringify(plainValue(line));
  }
}

/** Lambda sets the variable for each invocation, also for those that X-Ray does not record. */
function sampledTrace(): string | undefined {
  const header = process.env["_X_AMZN_TRACE_ID"] ?? "";
  return /\bSampled=1\b/.test(header) ? /\bRoot=([^;]+)/.exec(header)?.[1] : undefined;
}

/** One sentence per line, for a person at a terminal. */
export function textLog(source: string, now: () => Date, write: Write = toStdout): HandlerLog {
  return makeLog((level, event, fields) => {
    const time = now().toISOString().slice(11, 23);
    const mark = level === "info" ? " " : level === "warn" ? "!" : "✗";
    write(`${time} ${mark} ${source.padEnd(6)} ${sentence(event, fields)}`);
  });
}

/** Events that a brief log leaves out, because `carillon dev` prints a line for each job. */
const toldOfJobs: ReadonlySet<string> = new Set(["job.dead", "job.failed"] satisfies LogEvent[]);

/**
 * Errors of Carillon, and all that handlers log: one line each, with the time of this machine's
 * clock.
 */
export function briefLog(source: string, now: () => Date, write: Write = toStdout): HandlerLog {
  return makeLog((level, event, fields) => {
    if (sentences.has(event) && (level !== "error" || toldOfJobs.has(event))) return;
    const who = sentences.has(event) ? source : "log";
    write(`${now().toTimeString().slice(0, 8)}  ${who.padEnd(9)}  ${sentence(event, fields)}`);
  });
}

/** Writes nothing. */
export const silentLog: HandlerLog = makeLog(() => {});

const sentences: ReadonlyMap<string, string> = new Map(Object.entries(wording));

/**
 * Handlers log texts that callers wrote. A line break would begin a line that looks like another
 * part's, and other control characters or direction marks would control or reorder the terminal.
 */
function sentence(event: string, fields: LogFields): string {
  return escaped(sentenceOf(event, fields));
}

/** An event that a handler has chosen is its own sentence. */
function sentenceOf(event: string, fields: LogFields): string {
  const used = new Set<string>();
  const text = (sentences.get(event) ?? event).replace(/\{(\w+)\}/g, (_, name: string) => {
    used.add(name);
    return fieldText(fields[name] ?? "–");
  });
  const rest = Object.entries(fields).filter(([name, value]) => !used.has(name) && value !== undefined);
  if (rest.length === 0) return text;
  return `${text} (${rest.map(([name, value]) => `${name}=${fieldText(value)}`).join(" ")})`;
}
