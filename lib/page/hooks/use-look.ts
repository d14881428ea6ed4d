import { useSyncExternalStore } from "react";

const dark = matchMedia("(prefers-color-scheme: dark)");

function subscribe(listener: () => void): () => void {
  const chosen = new MutationObserver(listener);
  chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  dark.addEventListener("change", listener);
  return () => {
    chosen.disconnect();
    dark.removeEventListener("change", listener);
  };
}

/** The theme on the screen, for a drawing that the style sheet does not reach. */
export function useLook(): string {
  return useSyncExternalStore(
    subscribe,
    () => document.documentElement.dataset["theme"] ?? (dark.matches ? "dark" : "light"),
  );
}
