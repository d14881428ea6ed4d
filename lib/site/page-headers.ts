/** The origins that the page's document may call. */
export interface PageReach {
  /** Origins beside the page's own that it may call: those of its sign-in. */
  connect: readonly string[];
}

/**
 * The headers of the document. It loads scripts and styles from its own origin only, and neither
 * runs inline. No other site may frame it, and no request carries its address, which may name keys.
 */
export function documentHeaders({ connect }: PageReach): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${["'self'", ...connect].join(" ")}`,
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  return {
    ...everyHeader,
    "cache-control": "no-cache",
    "content-security-policy": policy,
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
  };
}

/** A file's name changes with its content, so that a copy of it stays right. */
export const assetHeaders: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "cache-control": "public, max-age=31536000, immutable",
};

const everyHeader = { "x-content-type-options": "nosniff" };
