import type { Log, LogFields, LogLevel } from "../../lib/log/log.ts";
import type { LogEvent } from "../../lib/log/wording.ts";

export interface RecordedLog extends Log {
  lines: { level: LogLevel; event: LogEvent; fields: LogFields }[];
}

/** Keeps what is logged, for a test to look at. */
export function recordedLog(): RecordedLog {
  const lines: RecordedLog["lines"] = [];
  const note =
    (level: LogLevel) =>
    (event: LogEvent, fields: LogFields = {}) => {
      lines.push({ level, event, fields });
    };
  return { lines, info: note("info"), warn: note("warn"), error: note("error") };
}
