import { useEffect, useState } from "react";

interface Versioned {
  version: number;
  updatedBy: string;
}

interface TakeUnedited<Stored extends Versioned> {
  /** A version that was saved meanwhile; null without one. */
  theirs: Stored | null;
  isDirty: boolean;
  take(stored: Stored): void;
}

/**
 * Goes on with a version that was saved meanwhile where nothing was edited: otherwise the old fields would
 * look like an edit that takes that version back. Returns a sentence on it.
 */
export function useTakeUnedited<Stored extends Versioned>({
  theirs,
  isDirty,
  take,
}: TakeUnedited<Stored>): string | null {
  const [taken, setTaken] = useState<Versioned | null>(null);
  useEffect(() => {
    if (theirs === null || isDirty) return;
    take(theirs);
    setTaken(theirs);
  }, [theirs, isDirty, take]);
  return taken === null ? null : `Version ${taken.version}, saved meanwhile by ${taken.updatedBy}, is shown.`;
}
