/** The part of a paged list that a table needs to load the next page when its end is on the screen. */
export interface More {
  hasMore: boolean;
  /** Called when the reader comes near the last row that is loaded. */
  onEnd(): void;
}

interface Pages {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  fetchNextPage(): unknown;
}

export function moreOf(pages: Pages): More {
  return {
    hasMore: pages.hasNextPage,
    onEnd: () => {
      // A page that failed is requested again by the button of the error only.
      if (!pages.isFetchingNextPage && !pages.isFetchNextPageError) void pages.fetchNextPage();
    },
  };
}

/** A list of which more than the first page is loaded is not refreshed by itself: all its pages would be read again. */
export function isLong(list: { pages: readonly unknown[] } | undefined): boolean {
  return (list?.pages.length ?? 0) > 1;
}
