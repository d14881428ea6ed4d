/** Where a change comes from; stands in the audit beside who made it. */
export interface Origin {
  via: "api" | "queue" | "sql" | "handler";
  /** The token's id. */
  token?: string;
  /** The request's or message's id, as the log has it. */
  request?: string;
  /** The address that sent the request, and how its client names itself. */
  ip?: string;
  agent?: string;
}

/** Who wants a change. */
export interface Caller {
  /** Stands as the actor wherever something was done for this caller. */
  name: string;
  origin?: Origin;
}
