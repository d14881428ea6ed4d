import type { TypedPayload } from "./payload-text.ts";

const storageKey = "carillon.draft";

/** Longer texts are not kept: the tab has about five million characters for all that it keeps. */
const LENGTH_MAX = 1_000_000;

/** An edit that is not saved, and the stored version that it began with. */
export interface KeptDraft {
  /** The key of the schedule; null for a new one. */
  of: string | null;
  version: number | null;
  /** The text that it began with. */
  base: string;
  text: string;
  /** The payload that is not JSON yet. */
  payload: TypedPayload | null;
}

/**
 * Keeps the last unsaved edit of this tab over a reload. Its payload may be secret: it lies beside the
 * token, no other tab has it, and it goes with the tab.
 */
export function keepDraft(draft: KeptDraft): void {
  const kept = JSON.stringify(draft);
  if (kept.length > LENGTH_MAX) {
    forgetDraft(draft.of);
    return;
  }
  try {
    sessionStorage.setItem(storageKey, kept);
  } catch {
    // The tab's storage is full: without a kept edit, the browser's question before a reload remains.
    forgetDraft(draft.of);
  }
}

export function keptDraft(of: string | null): KeptDraft | null {
  const kept = sessionStorage.getItem(storageKey);
  if (kept === null) return null;
  // Only this file writes it.
  const draft = JSON.parse(kept) as KeptDraft;
  return draft.of === of ? draft : null;
}

/** The edit of another schedule stays. */
export function forgetDraft(of: string | null): void {
  if (keptDraft(of) !== null) sessionStorage.removeItem(storageKey);
}

/** At a sign-out. A session that ended by itself goes on with the edit after the next sign-in. */
export function forgetAnyDraft(): void {
  sessionStorage.removeItem(storageKey);
}
