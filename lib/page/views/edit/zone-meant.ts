/** The zone that is meant by the name of its city, or by its own name with other signs; null if not one zone is. */
export function zoneMeant(typed: string): string | null {
  const name = wordsOf(typed);
  if (name === "_") return null;
  const [zone, ...others] = Intl.supportedValuesOf("timeZone").filter((each) => wordsOf(each).endsWith(name));
  return zone === undefined || others.length > 0 ? null : zone;
}

/** Each word with a line before it, so that only whole words are found at the end of a name. */
const wordsOf = (name: string): string =>
  `_${name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "")
    .join("_")}`;
