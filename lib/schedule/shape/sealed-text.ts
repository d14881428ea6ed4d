/**
 * A credential as it is stored: encrypted for the function that sends webhooks, and readable by no
 * other part. The texts of callers never begin like this, so that a stored text is never mistaken.
 */
export interface SealedText {
  /** The key that it is sealed with. */
  keyId: number;
  /** A keyed hash that tells equal values, or null for a value that could be guessed from it. */
  print: string | null;
  /** The encapsulated key and the ciphertext, in base64url. */
  sealed: string;
}

export const sealedMark = "sealed:";

const form = /^sealed:(\d{1,9}):([A-Za-z0-9_-]{16}|-):([A-Za-z0-9_-]+)$/;

export function isSealed(text: string): boolean {
  return text.startsWith(sealedMark);
}

export function sealedText({ keyId, print, sealed }: SealedText): string {
  return `${sealedMark}${keyId}:${print ?? "-"}:${sealed}`;
}

/** Null for a text that is not sealed. */
export function readSealed(text: string): SealedText | null {
  const [, keyId, print, sealed] = form.exec(text) ?? [];
  if (keyId === undefined || print === undefined || sealed === undefined) return null;
  return { keyId: Number(keyId), print: print === "-" ? null : print, sealed };
}

/** Whether two stored texts hold the same value, as far as that can be known without opening them. */
export function isSameStored(one: string, other: string): boolean {
  if (one === other) return true;
  const [a, b] = [readSealed(one), readSealed(other)];
  return a !== null && b !== null && a.keyId === b.keyId && a.print !== null && a.print === b.print;
}
