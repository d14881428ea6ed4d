/** Where a change comes from; stands in the audit beside who made it. */
export interface Origin {
  via: "api" | "queue" | "sql" | "handler";
  /** The token's id. */
  token?: string | undefined;
  /** The request's or message's id, as the log has it. */
  request?: string | undefined;
  /** The address that sent the request, and how its client names itself. */
  ip?: string | undefined;
  agent?: string | undefined;
  /** When it was asked for, where it was done later: as text, since it stands in the audit as JSON. */
  at?: string | undefined;
}

/** Who wants a change. */
export interface Caller {
  /** Stands as the actor wherever something was done for this caller. */
  name: string;
  origin?: Origin;
}

/** Who has made a change, and when. */
export interface Author extends Caller {
  at: Date;
}

/** As the audit takes it; null where Carillon did it by itself. */
export function originText({ origin }: Pick<Caller, "origin">): string | null {
  return origin === undefined ? null : JSON.stringify(origin);
}
