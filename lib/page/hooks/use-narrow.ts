import { useSyncExternalStore } from "react";

/** The width at which the page has one column, as in the style sheets. */
const narrow = "(max-width: 900px)";

function subscribe(changed: () => void): () => void {
  const query = matchMedia(narrow);
  query.addEventListener("change", changed);
  return () => query.removeEventListener("change", changed);
}

/** Whether the screen has one column, such as that of a phone. */
export const useNarrow = (): boolean => useSyncExternalStore(subscribe, () => matchMedia(narrow).matches);
