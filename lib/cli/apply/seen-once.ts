/**
 * Filters overlapping lists to items that are new; items that have not appeared for long are
 * forgotten.
 */
export function seenOnce<Item>(
  identity: (item: Item) => string,
  most: number,
): (items: readonly Item[]) => Item[] {
  let seen = new Set<string>();
  let before = new Set<string>();
  return (items) => {
    const fresh = items.filter((item) => {
      const id = identity(item);
      if (seen.has(id)) return false;
      const isNew = !before.has(id);
      seen.add(id);
      return isNew;
    });
    if (seen.size > most) [before, seen] = [seen, new Set()];
    return fresh;
  };
}
