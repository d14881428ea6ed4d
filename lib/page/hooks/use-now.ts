import { useSyncExternalStore } from "react";

/** All relative times on the screen change together, once a second, and not while the tab is hidden. */
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let current = Date.now();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    if (document.hidden) return;
    current = Date.now();
    for (const each of listeners) each();
  }, 1_000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
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
