/** A sign-in that waits for the issuer's answer. It stays in the tab that began it. */
export interface Pending {
  state: string;
  nonce: string;
  verifier: string;
  /** The whole address of the view that the reader came from: a path alone may begin with `//`. */
  address: string;
}

const storageKey = "carillon.sign-in";

export function keepPending(pending: Pending): void {
  sessionStorage.setItem(storageKey, JSON.stringify(pending));
}

/** Takes the sign-in out of the tab, so that an answer is used once. */
function takePending(): Pending | null {
  const kept = sessionStorage.getItem(storageKey);
  sessionStorage.removeItem(storageKey);
  return kept === null ? null : (JSON.parse(kept) as Pending);
}

/** The issuer's answer to a sign-in. */
export interface IssuerAnswer {
  parameters: URLSearchParams;
  /** Null: no sign-in of this tab has the answer's state. */
  pending: Pending | null;
}

/**
 * Takes the issuer's answer out of the address, and puts the address of the reader's view back. The
 * code is then in no history, bookmark or screenshot.
 */
export function takeAnswerFromAddress(): IssuerAnswer | null {
  const root = new URL(document.baseURI).pathname;
  const parameters = new URLSearchParams(location.search);
  const isAnswer = location.pathname === root && (parameters.has("code") || parameters.has("error"));
  if (!isAnswer) return null;
  const kept = takePending();
  const pending = kept !== null && kept.state === parameters.get("state") ? kept : null;
  history.replaceState(null, "", pending?.address ?? root);
  return { parameters, pending };
}
