import { isLong } from "../data/more.ts";
import { Freshness } from "./freshness.tsx";

interface ListFreshnessProps {
  pages: { dataUpdatedAt: number; data: { pages: readonly unknown[] } | undefined; refetch(): unknown };
}

/** How old a list is. While only its first page is loaded it refreshes by itself. */
export function ListFreshness({ pages }: ListFreshnessProps) {
  return (
    <Freshness
      at={pages.dataUpdatedAt}
      refresh={isLong(pages.data) ? () => void pages.refetch() : undefined}
    />
  );
}
