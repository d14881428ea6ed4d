const unitSeconds: ReadonlyMap<string, number> = new Map([
  ["ms", 0.001],
  ["s", 1],
  ["m", 60],
  ["h", 3_600],
  ["d", 86_400],
]);

/**
 * The seconds of a duration as Go writes it (`1h30m`, `1.5h`), with days as Temporal has them; null
 * if it is not one.
 */
export function goSeconds(text: string): number | null {
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return null;
  let seconds = 0;
  for (const [, number = "", unit = ""] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g))
    seconds += Number(number) * (unitSeconds.get(unit) ?? 0);
  // Products such as 1.1 × 60 are off by some digits far behind the point.
  return Math.round(seconds * 1_000) / 1_000;
}
