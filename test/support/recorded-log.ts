import type { HandlerLog, LogFields, LogLevel } from "../../lib/log/log.ts";

export interface RecordedLog extends HandlerLog {
  lines: { level: LogLevel; event: string; fields: LogFields }[];
}

/** Keeps the lines of the log for a test. */
export function recordedLog(): RecordedLog {
  const lines: RecordedLog["lines"] = [];
  const note =
    (level: LogLevel) =>
    (event: string, fields: LogFields = {}) => {
      lines.push({ level, event, fields });
    };
  return { lines, info: note("info"), warn: note("warn"), error: note("error") };
}
