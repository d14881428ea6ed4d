import { Freshness } from "./freshness.tsx";

interface ListFreshnessProps {
  pages: { dataUpdatedAt: number; data: { pages: readonly unknown[] } | undefined; refetch(): unknown };
}

/** How old a list is. While only its first page is loaded it refreshes by itself. */
export function ListFreshness({ pages }: ListFreshnessProps) {
  const isLong = (pages.data?.pages.length ?? 0) > 1;
  return <Freshness at={pages.dataUpdatedAt} refresh={isLong ? () => void pages.refetch() : undefined} />;
}
