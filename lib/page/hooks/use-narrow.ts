import { useCallback, useSyncExternalStore } from "react";

/** The width at which the page has one column, as in the style sheets. */
const narrow = "(max-width: 900px)";
/** The width at which the bar has no room for all of its views. */
const phone = "(max-width: 560px)";

function useMedia(media: string): boolean {
  const subscribe = useCallback(
    (changed: () => void) => {
      const query = matchMedia(media);
      query.addEventListener("change", changed);
      return () => query.removeEventListener("change", changed);
    },
    [media],
  );
  return useSyncExternalStore(subscribe, () => matchMedia(media).matches);
}

/** Whether the screen has one column, such as that of a tablet or a phone. */
export const useNarrow = (): boolean => useMedia(narrow);

export const usePhone = (): boolean => useMedia(phone);
