/** The tokens of an issuer, kept for the tab. */
export interface IssuedTokens {
  /** Sent to the API. */
  access: string;
  /** Sent to the issuer only. Null: the reader has to sign in again at the end. */
  refresh: string | null;
  /** Milliseconds since 1970. Null: the issuer does not tell. */
  renewAt: number | null;
  endsAt: number | null;
}

const storageKey = "carillon.issued";

export function keptIssued(): IssuedTokens | null {
  const kept = sessionStorage.getItem(storageKey);
  return kept === null ? null : (JSON.parse(kept) as IssuedTokens);
}

export function keepIssued(tokens: IssuedTokens): void {
  sessionStorage.setItem(storageKey, JSON.stringify(tokens));
}

export function forgetIssued(): void {
  sessionStorage.removeItem(storageKey);
}

const leadMsMax = 60_000;

/** A token is renewed a minute before its end, or in the last tenth of a short life. */
export function timesOf(lifeSeconds: number | undefined, now: number) {
  if (lifeSeconds === undefined) return { renewAt: null, endsAt: null };
  const lifeMs = lifeSeconds * 1_000;
  return { renewAt: now + lifeMs - Math.min(leadMsMax, lifeMs / 10), endsAt: now + lifeMs };
}
