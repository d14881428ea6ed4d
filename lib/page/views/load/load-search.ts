import type { ForecastParams } from "../../../client/forecast.ts";
import { choiceIn, textsIn } from "../../data/search-texts.ts";

export const spreads = ["1m", "2m", "5m", "10m", "15m", "30m", "1h"] as const;
type Spread = (typeof spreads)[number];

/** Without a choice, by prefix. */
export const byWords = [
  ["tag", "tag"],
  ["target", "target"],
  ["key", "key"],
] as const;
export type By = (typeof byWords)[number][0];

/** Without a choice, a day: it has a midnight. */
const lengths = ["60", "240"] as const;

/** Without a choice, the curve. */
const views = ["day", "week"] as const;

export interface LoadSearch {
  view?: (typeof views)[number] | undefined;
  minutes?: (typeof lengths)[number] | undefined;
  by?: By | undefined;
  prefix?: string | undefined;
  spread?: Spread | undefined;
}

export function readLoadSearch(search: Record<string, unknown>): LoadSearch {
  const view = choiceIn(search, "view", views);
  const minutes = choiceIn(search, "minutes", lengths);
  const by = choiceIn(
    search,
    "by",
    byWords.map(([each]) => each),
  );
  const spread = choiceIn(search, "spread", spreads);
  return {
    ...textsIn(search, ["prefix"]),
    ...(view === undefined ? {} : { view }),
    ...(minutes === undefined ? {} : { minutes }),
    ...(by === undefined ? {} : { by }),
    ...(spread === undefined ? {} : { spread }),
  };
}

const dayMinutes = 1_440;

export function paramsOf({ view, minutes, by, prefix, spread }: LoadSearch): ForecastParams {
  const length = view === "day" || minutes === undefined ? dayMinutes : Number(minutes);
  return { prefix, spread, by: by ?? "prefix", minutes: length };
}
