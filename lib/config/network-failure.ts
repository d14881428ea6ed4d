/**
 * The error codes of sockets and resolvers. Other errors of Node have codes of the same form
 * (ERR_INVALID_ARG_TYPE, ENOENT): a code outside this list may be the fault of the message that is
 * sent.
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

/** Whether the way to a server has failed, so that any other message would fail too. */
export function isOfTheNetwork(error: unknown): boolean {
  if (typeof error !== "object" || error === null || !("code" in error)) return false;
  return typeof error.code === "string" && ofTheNetwork.has(error.code);
}
