const intervalMax = 14;
const idMax = 10;

/**
 * The name of a rule in the API: `every-60000` for an interval in milliseconds, `cadence-7` for a shared
 * cadence, `once` for single instants. The number alone could be negative, which a command line takes for
 * an option.
 */
export function ruleText(rule: number): string {
  if (rule === 0) return "once";
  return rule < 0 ? `every-${-rule}` : `cadence-${rule}`;
}

const named = new RegExp(`^(?:every-([1-9]\\d{0,${intervalMax - 1}})|cadence-([1-9]\\d{0,${idMax - 1}}))$`);

/** The rule of a name; null for a text that is none. */
export function readRule(text: string): number | null {
  if (text === "once") return 0;
  const [, every, id] = named.exec(text) ?? [];
  if (every !== undefined) return -Number(every);
  return id === undefined || Number(id) > highestId ? null : Number(id);
}

/** The ids of cadences are of Postgres' type `integer`. */
const highestId = 2 ** 31 - 1;
