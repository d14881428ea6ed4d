/** The source of a change, for the audit. */
export interface Origin {
  via: "api" | "queue" | "sql" | "handler";
  /** The id of the token. */
  token?: string | undefined;
  /** The id of the request or message, as in the log. */
  request?: string | undefined;
  /** The address of the client, and its user agent. */
  ip?: string | undefined;
  agent?: string | undefined;
  /**
   * The time of the request, if the change was made later. Text, since the audit stores it as JSON.
   */
  at?: string | undefined;
}

/** The requester of a change. */
export interface Caller {
  /** The actor in the audit. */
  name: string;
  origin?: Origin;
  /** The audit entry of the bulk action that the change is part of, instead of one of its own. */
  bulk?: string;
}

/** The author of a change, and its time. */
export interface Author extends Caller {
  at: Date;
}

/** The origin as JSON for the audit; null for a change that Carillon made by itself. */
export function originText({ origin }: Pick<Caller, "origin">): string | null {
  return origin === undefined ? null : JSON.stringify(origin);
}
