const storageKey = "carillon.token";

/**
 * Takes a token out of the address (`#token=…`). A fragment is sent to no server, and it is removed
 * at once, so that it is in no history, bookmark or screenshot.
 */
export function takeTokenFromAddress(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  if (given !== "") keepToken(given);
}

/** The token of this tab. Another tab, or this one after it was closed, has none. */
export function keptToken(): string | null {
  return sessionStorage.getItem(storageKey);
}

export function keepToken(token: string): void {
  sessionStorage.setItem(storageKey, token);
}

export function forgetToken(): void {
  sessionStorage.removeItem(storageKey);
}
