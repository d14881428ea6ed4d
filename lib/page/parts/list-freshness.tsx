import { isLong } from "../data/more.ts";
import { listRefreshMs } from "../hooks/list-refresh.ts";
import type { Seen } from "../hooks/use-is-old.ts";
import { Freshness } from "./freshness.tsx";

interface ListFreshnessProps {
  pages: Seen & { data: { pages: readonly unknown[] } | undefined; refetch(): unknown };
}

/** How old a list is. While only its first page is loaded it refreshes by itself. */
export function ListFreshness({ pages }: ListFreshnessProps) {
  return (
    <Freshness
      of={pages}
      everyMs={listRefreshMs}
      refresh={isLong(pages.data) ? () => void pages.refetch() : undefined}
    />
  );
}
