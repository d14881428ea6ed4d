const informationalCode = "INFORMATIONAL_OVERFLOW";

/** A receiver sent more answers of status 1xx than an exchange takes. */
export class InformationalOverflow extends Error {
  override readonly name = "InformationalOverflow";
  readonly code = informationalCode;

  constructor() {
    super("The receiver sent too many informational answers.");
  }
}

/**
 * Failures of a connection in words, by the error codes of Node and of its TLS. Other codes are
 * shown as they are.
 */
const wordings: Readonly<Record<string, string>> = {
  ECONNREFUSED: "refused the connection",
  ECONNRESET: "closed the connection without an answer",
  EPIPE: "closed the connection without an answer",
  ETIMEDOUT: "did not take the connection",
  EHOSTUNREACH: "could not be reached",
  ENETUNREACH: "could not be reached",
  ENOTFOUND: "has no address in DNS",
  ENODATA: "has no address in DNS",
  EAI_AGAIN: "could not be looked up: DNS did not answer",
  ETIMEOUT: "could not be looked up: DNS did not answer",
  ESERVFAIL: "could not be looked up: its name server failed",
  EREFUSED: "could not be looked up: its name server refused to answer",
  HPE_HEADER_OVERFLOW: "answered with more than 16 KB of headers",
  [informationalCode]: "sent more than ten informational answers (status 1xx) and no other answer",
  CERT_HAS_EXPIRED: "showed a TLS certificate that has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "showed a TLS certificate for another name",
  DEPTH_ZERO_SELF_SIGNED_CERT: "showed a self-signed TLS certificate",
  SELF_SIGNED_CERT_IN_CHAIN: "showed a TLS certificate of an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "showed a TLS certificate of an unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "showed a TLS certificate of an unknown authority",
};

/**
 * Leaves out the error's own message: it may hold parts of the request that its reader should not
 * see.
 */
export function failure(host: string, error: unknown): string {
  const code = codeOf(error);
  if (code === null) return `The request to ${host} failed.`;
  if (code.startsWith("HPE_") && !(code in wordings)) return `${host} did not answer in HTTP (${code}).`;
  return `${host} ${wordings[code] ?? "did not complete the request"} (${code}).`;
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}
