/**
 * The connection ended while a statement was under way, or could not be opened. Whether the statement took effect is unknown:
 * everything that Carillon sends is safe to send again.
 */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";

  constructor(detail: string, cause?: unknown) {
    super(`The connection to the database was lost: ${detail}.`, cause === undefined ? {} : { cause });
  }
}
