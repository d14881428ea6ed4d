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
type By = (typeof byWords)[number][0];

const lengths = ["60", "1440"] as const;

export interface LoadSearch {
  minutes?: (typeof lengths)[number] | undefined;
  by?: By | undefined;
  prefix?: string | undefined;
  spread?: Spread | undefined;
}

export function readLoadSearch(search: Record<string, unknown>): LoadSearch {
  const minutes = choiceIn(search, "minutes", lengths);
  const by = choiceIn(
    search,
    "by",
    byWords.map(([each]) => each),
  );
  const spread = choiceIn(search, "spread", spreads);
  return {
    ...textsIn(search, ["prefix"]),
    ...(minutes === undefined ? {} : { minutes }),
    ...(by === undefined ? {} : { by }),
    ...(spread === undefined ? {} : { spread }),
  };
}

const defaultMinutes = 240;

export function paramsOf({ minutes, by, ...search }: LoadSearch): ForecastParams {
  return { ...search, by: by ?? "prefix", minutes: minutes === undefined ? defaultMinutes : Number(minutes) };
}
