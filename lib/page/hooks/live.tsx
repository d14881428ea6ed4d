import { createContext, type ReactNode, use, useState } from "react";

export interface Live {
  /** Whether views refresh by themselves. */
  isLive: boolean;
  toggle(): void;
}

const LiveContext = createContext<Live | null>(null);

export function LiveProvider({ children }: { children: ReactNode }) {
  const [isLive, setLive] = useState(true);
  return <LiveContext value={{ isLive, toggle: () => setLive(!isLive) }}>{children}</LiveContext>;
}

export function useLive(): Live {
  const live = use(LiveContext);
  if (live === null) throw new Error("A view was rendered outside of the shell.");
  return live;
}

/** The pause between two refreshes of a view, or false while the refresh is paused. */
export function useRefreshMs(everyMs: number): number | false {
  return useLive().isLive ? everyMs : false;
}
