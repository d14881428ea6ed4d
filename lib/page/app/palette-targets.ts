import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ownTokenQuery } from "../data/token-query.ts";
import { useSession } from "../hooks/session-context.ts";
import { mainViews } from "./main-views.ts";
import { useMoreViews } from "./more-views.tsx";

export interface Target {
  id: string;
  sort: string;
  text: string;
  go(): void;
}

const shownMax = 8;

/** `<schedule>-<milliseconds>-<kind and number>`. */
const jobId = /^\d+-\d+-[a-z]\d+$/;

/**
 * The places to go to. They are empty where no key, job or view begins with the text. `isAnswered`:
 * the server has answered for this text, so the first place stays the first.
 */
export function useTargets(typed: string): { targets: Target[]; isEmpty: boolean; isAnswered: boolean } {
  const { carillon } = useSession();
  const navigate = useNavigate();
  const isId = jobId.test(typed);
  const keys = useQuery({
    queryKey: ["palette", typed],
    queryFn: ({ signal }) => carillon.schedules.list({ prefix: typed, limit: shownMax, signal }).page(),
    enabled: typed !== "" && !isId,
    placeholderData: (before) => before,
  });
  const listed = (typed === "" ? [] : (keys.data?.items ?? []))
    .map(({ key }) => key)
    .filter((key) => key.startsWith(typed));
  // A beginning of many keys is hardly a whole one, and would cost a request for each letter.
  const mayBeWhole = keys.isSuccess && !keys.isPlaceholderData && listed.length < shownMax;
  const deleted = useWasDeleted(typed, !isId && mayBeWhole && !listed.includes(typed));
  const views = [...mainViews, { to: "/new", name: "New schedule" } as const, ...useMoreViews()];
  const ofViews = views
    .filter(({ name }) => name.toLowerCase().startsWith(typed.toLowerCase()))
    .map(({ to, name }): Target => ({ id: to, sort: "view", text: name, go: () => void navigate({ to }) }));
  if (isId) {
    const go = () => void navigate({ to: "/jobs/$id", params: { id: typed } });
    return { targets: [{ id: typed, sort: "job", text: typed, go }], isEmpty: false, isAnswered: true };
  }
  const keyTarget = (sort: string, key: string): Target => ({
    id: `key ${key}`,
    sort,
    text: key,
    go: () => void navigate({ to: "/schedules/$key", params: { key } }),
  });
  const ofKeys = [
    ...listed.map((key) => keyTarget("schedule", key)),
    ...(deleted.data === true ? [keyTarget("deleted", typed)] : []),
  ];
  const toList: Target = {
    id: "list",
    sort: "list",
    text: `Schedules whose key begins with ${typed}`,
    go: () => void navigate({ to: "/schedules", search: { prefix: typed } }),
  };
  const found = [...ofKeys, ...ofViews];
  return {
    targets: typed === "" ? found : [...found, toList],
    isEmpty: typed !== "" && found.length === 0 && keys.isFetched && !keys.isFetching,
    isAnswered:
      typed === "" ||
      keys.failureCount > 0 ||
      (!keys.isPlaceholderData && !keys.isPending && !deleted.isLoading),
  };
}

/** Other texts are refused as keys. */
const keyLike = /^[^/?#%\\]{1,255}$/;

/** Whether the last schedule with this key is deleted: lists leave it out, but its view explains its runs. */
function useWasDeleted(key: string, isSought: boolean) {
  const { carillon } = useSession();
  const own = useQuery(ownTokenQuery(carillon));
  const mayRead = own.data !== undefined && key.startsWith(own.data.prefix ?? "");
  return useQuery({
    queryKey: ["palette", "deleted", key],
    queryFn: async ({ signal }) => {
      const { items } = await carillon.lastRuns({ keys: [key], n: 1 }, { signal });
      return items[0]?.deleted != null;
    },
    enabled: isSought && mayRead && keyLike.test(key),
  });
}
