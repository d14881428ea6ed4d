import { useState } from "react";
import { selectedMax } from "../../data/bulk/selected-max.ts";

export interface KeySelection {
  keys: ReadonlySet<string>;
  /** Selects or leaves out a key; with `isRange` also all between it and the last one. */
  toggle(key: string, isRange: boolean): void;
  clear(): void;
}

/**
 * Selected keys of a list, in which a range is selected with Shift. Keys that the list shows no
 * longer are not selected: they were deleted, or the filter is another one.
 */
export function useKeySelection(order: readonly string[]): KeySelection {
  const [chosen, setKeys] = useState<ReadonlySet<string>>(new Set());
  const shown = new Set(order);
  const keys = new Set([...chosen].filter((key) => shown.has(key)));
  const [last, setLast] = useState<string | null>(null);
  return {
    keys,
    toggle: (key, isRange) => {
      const isOn = !keys.has(key);
      const changed = isRange && last !== null ? between(order, last, key) : [key];
      const next = new Set(keys);
      for (const each of changed) {
        if (!isOn) next.delete(each);
        else if (next.size < selectedMax) next.add(each);
      }
      setKeys(next);
      setLast(key);
    },
    clear: () => {
      setKeys(new Set());
      setLast(null);
    },
  };
}

function between(order: readonly string[], from: string, to: string): readonly string[] {
  const places = [order.indexOf(from), order.indexOf(to)].sort((a, b) => a - b);
  const [first = -1, second = -1] = places;
  return first === -1 ? [to] : order.slice(first, second + 1);
}
