/** The SQLSTATEs that Carillon acts on, by meaning. Errors are never recognised by their text. */
const states = {
  "23505": "unique_violation",
  "23514": "check_violation",
  "25006": "read_only",
  "25P02": "failed_transaction",
  "28P01": "invalid_password",
  "40001": "serialization_failure",
  "40P01": "deadlock",
  "42P06": "duplicate_schema",
  "42P07": "duplicate_table",
  "53100": "disk_full",
  // Most often the table of locks of the whole server is full.
  "53200": "out_of_memory",
  "53300": "too_many_connections",
  "55P03": "lock_timeout",
  "57014": "cancelled",
  "57P01": "shutdown",
  "57P02": "shutdown",
  "57P03": "starting",
  // Raised by carillon.take_request_seat.
  CA429: "no_seat",
  // An error of the driver: the server accepted the connection and was silent.
  CONNECT_TIMEOUT: "no_answer",
} as const;

export type SqlState = (typeof states)[keyof typeof states];

const known: Readonly<Record<string, SqlState | undefined>> = states;

export function sqlState(error: unknown): SqlState | undefined {
  if (typeof error !== "object" || error === null || !("code" in error) || typeof error.code !== "string")
    return undefined;
  return known[error.code];
}

/**
 * Values with a wrong type, that break a constraint or are too long. The data is at fault, and not
 * the moment.
 */
const refusedValues = /^(22|23|54)/;

export function isRefusedValue(error: unknown): boolean {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  return typeof error.code === "string" && error.code.length === 5 && refusedValues.test(error.code);
}

/**
 * A right, table, column or function is missing. It is likely the same for all rows, though a
 * trigger of the app may fail so on one row.
 */
export function isOfTheSchema(error: unknown): boolean {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  return typeof error.code === "string" && /^42[0-9A-Z]{3}$/.test(error.code);
}

/** The constraint that refused a row, if one did. */
export function violatedConstraint(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("constraint_name" in error)) return undefined;
  return typeof error.constraint_name === "string" ? error.constraint_name : undefined;
}
