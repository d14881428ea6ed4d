/**
 * The connection ended while a statement was running, or could not be opened. Whether the statement
 * took effect is unknown. Every statement of Carillon is safe to repeat.
 */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";

  constructor(detail: string, cause?: unknown) {
    super(`The connection to the database was lost: ${detail}.`, cause === undefined ? {} : { cause });
  }
}
