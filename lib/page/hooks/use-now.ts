import { useSyncExternalStore } from "react";

/**
 * All relative times on the screen change together, once a second, and not while the tab is hidden. They
 * change at once when it is shown again, or an old answer would look new for a second.
 */
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let current = Date.now();

function change(): void {
  if (document.hidden) return;
  current = Date.now();
  for (const each of listeners) each();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (timer === undefined) {
    timer = setInterval(change, 1_000);
    document.addEventListener("visibilitychange", change);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
    document.removeEventListener("visibilitychange", change);
  };
}

export function useNow(): number {
  return useSyncExternalStore(subscribe, () => current);
}

const hourMs = 3_600_000;

/** When the running hour began. */
export function useHour(): number {
  return useSyncExternalStore(subscribe, () => Math.floor(current / hourMs) * hourMs);
}
