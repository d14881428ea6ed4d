import type { SignInSettings } from "../../config/sign-in-settings.ts";
import { type IssuedTokens, keepIssued, keptIssued } from "./issued-tokens.ts";
import { issuerName } from "./settings.ts";
import { SignInFault } from "./sign-in-fault.ts";

/** The reader's token in the requests to the API. */
export interface Bearer {
  /** For the client, which asks at each attempt. */
  token: string | (() => Promise<string>);
  fetch: typeof globalThis.fetch;
  /** Why the API refuses the token, in a sentence for the reader. */
  refusedText(): string;
}

/** A token that the reader gave. */
export function givenBearer(token: string): Bearer {
  return {
    token,
    fetch: globalThis.fetch,
    refusedText: () => "The API does not accept this token: it has expired, was revoked, or is mistyped.",
  };
}

/** Tokens of the issuer. They are renewed before their end, and once when the API refuses one. */
export function issuedBearer(settings: SignInSettings, first: IssuedTokens): Bearer {
  let tokens = first;
  let wasAccepted = false;
  let renewal: Promise<void> | null = null;
  // Requests that need another token at once share its renewal.
  const renew = (refresh: string) => {
    renewal ??= renewed(settings, tokens, refresh).then((next) => {
      // After a sign-out there is nothing to keep.
      if (keptIssued() !== null) keepIssued(next);
      tokens = next;
      renewal = null;
    });
    return renewal;
  };
  const token = async () => {
    const { refresh, renewAt, endsAt } = tokens;
    const now = Date.now();
    if (refresh !== null && renewAt !== null && endsAt !== null && now >= renewAt) {
      const done = renew(refresh);
      // Until then the present token serves.
      if (now >= endsAt) await done;
    }
    return tokens.access;
  };
  const fetchRenewed: typeof globalThis.fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (response.status !== 401) {
      wasAccepted = true;
      return response;
    }
    const headers = new Headers(init?.headers);
    const isCurrent = () => headers.get("authorization") === `Bearer ${tokens.access}`;
    // Another request may have renewed it meanwhile.
    if (isCurrent() && tokens.refresh !== null) await renew(tokens.refresh);
    if (isCurrent()) return response;
    headers.set("authorization", `Bearer ${tokens.access}`);
    return fetch(input, { ...init, headers });
  };
  const refusedText = () => {
    const name = issuerName(settings);
    const hasEnded = tokens.endsAt !== null && Date.now() >= tokens.endsAt;
    return wasAccepted || hasEnded
      ? `The session at ${name} has ended. Sign in again; this view opens afterwards.`
      : `The API does not accept the token of ${name}. Its audience may be another one than the API's.`;
  };
  return { token, fetch: fetchRenewed, refusedText };
}

/** The next tokens: the same ones while the issuer is away, and without its refresh token once refused. */
async function renewed(
  settings: SignInSettings,
  tokens: IssuedTokens,
  refresh: string,
): Promise<IssuedTokens> {
  try {
    const { renewTokens } = await import("./issuer.ts");
    return await renewTokens(settings, refresh);
  } catch (error) {
    return error instanceof SignInFault && error.isRefusal ? { ...tokens, refresh: null } : tokens;
  }
}
