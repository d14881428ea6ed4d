/**
 * What a socket and a resolver answer, as Node names it. Node names other errors alike (ERR_INVALID_ARG_TYPE, ENOENT): what is not of this list
 * may be the fault of what is sent.
 */
const ofTheNetwork: ReadonlySet<string> = new Set([
  "EADDRNOTAVAIL",
  "EAI_AGAIN",
  "EAI_FAIL",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "EMFILE",
  "ENETDOWN",
  "ENETRESET",
  "ENETUNREACH",
  "ENOBUFS",
  "ENODATA",
  "ENOTCONN",
  "ENOTFOUND",
  "EPIPE",
  "ESERVFAIL",
  "ETIMEDOUT",
  "ETIMEOUT",
]);

/** Whether the way to a server has failed: whatever is sent would fare no better. */
export function isOfTheNetwork(error: unknown): boolean {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  return typeof error.code === "string" && ofTheNetwork.has(error.code);
}
