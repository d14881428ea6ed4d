/** The source of a change, for the audit. */
export interface Origin {
  via: "api" | "queue" | "sql" | "handler";
  /** The id of the token. */
  token?: string | undefined;
  /** The prefix of the token: those of other prefixes may have the same name. */
  prefix?: string | undefined;
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

/** The keys that a caller may touch. A hold keeps the reach of its maker. */
export interface Reach {
  /** Empty for all keys. */
  prefix: string;
  /**
   * The first prefix in the chain of tokens that made this one, empty if it reaches all keys. The
   * holds of a team count together.
   */
  team: string;
}

export const allKeys: Reach = { prefix: "", team: "" };

/** The reach of a part of Carillon whose setting names a prefix, or null. */
export function reachOf(prefix: string | null): Reach {
  return prefix === null ? allKeys : { prefix, team: prefix };
}

/** The requester of a change. */
export interface Caller {
  /** The actor in the audit. */
  name: string;
  /** Left out for Carillon itself, which may release every hold. */
  reach?: Reach | undefined;
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
