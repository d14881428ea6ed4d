interface OlderButtonProps {
  pages: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage(): unknown };
  text: string;
}

/** Reads the next page of a list that is no table. */
export function OlderButton({ pages, text }: OlderButtonProps) {
  if (!pages.hasNextPage) return null;
  return (
    <p className="older">
      <button
        type="button"
        className="button"
        disabled={pages.isFetchingNextPage}
        onClick={() => void pages.fetchNextPage()}
      >
        {pages.isFetchingNextPage ? "Reading …" : text}
      </button>
    </p>
  );
}
