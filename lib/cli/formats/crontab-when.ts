/** The time of a line of a crontab, as a schedule's `when`. */
export interface CrontabWhen {
  when: string;
  /**
   * True where cron counts the line as a fixed time and Carillon would count it as an interval; the
   * two differ at clock changes.
   */
  isFixedTimeForCronAlone: boolean;
  differences: string[];
  faults: string[];
}

const nicknames: ReadonlySet<string> = new Set(
  "@yearly @annually @monthly @weekly @daily @midnight @hourly".split(" "),
);

/** The first and the last value of each field, for ranges that leave one of them out. */
const fields = [
  { first: 0, last: 59 },
  { first: 0, last: 23 },
  { first: 1, last: 31 },
  { first: 1, last: 12 },
  { first: 0, last: 6 },
] as const;

/**
 * Reads as cronie and Vixie cron do. Syntax that they read otherwise than Carillon is rewritten to
 * the same meaning, or reported as a difference.
 */
export function crontabWhen(text: string): CrontabWhen {
  if (text.startsWith("@")) return nickname(text.toLowerCase());
  const differences: string[] = [];
  const words = text.split(" ").map((word, index) => fieldText(word, index, differences));
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = words;
  const needsBoth = (isPartOfAll(day) && weekday !== "*") || (isPartOfAll(weekday) && day !== "*");
  if (needsBoth)
    differences.push(
      "one day field begins with `*`, so cron runs it on days that match both fields; `&` asks Carillon for the same",
    );
  return {
    when: `${[minute, hour, day, month, weekday].join(" ")}${needsBoth ? "&" : ""}`,
    isFixedTimeForCronAlone:
      !minute.startsWith("*") && !hour.startsWith("*") && /[*/]/.test(`${minute} ${hour}`),
    differences,
    faults: [],
  };
}

function nickname(word: string): CrontabWhen {
  const read = { when: word, isFixedTimeForCronAlone: false, differences: [], faults: [] };
  if (nicknames.has(word)) return read;
  if (word === "@every_minute") return { ...read, when: "* * * * *" };
  if (word === "@reboot")
    return { ...read, faults: ["@reboot has no time and cannot be imported: Carillon does not boot"] };
  return { ...read, faults: [`${word} is not known`] };
}

function fieldText(word: string, index: number, differences: string[]): string {
  // If one of the two day fields begins with `*` (`*`, `*/1`), cron counts the other one alone.
  if (/^\*(\/1)?(,|$)/.test(word)) return "*";
  const { first, last } = fields[index] ?? fields[0];
  const items = word.split(",").map((item) => {
    const [random, from = "", to = "", step = ""] = /^(\d*)~(\d*)(\/\d+)?$/.exec(item) ?? [];
    if (random !== undefined) {
      differences.push(
        `\`${item}\`: cron picks a value each time it reads the table; Carillon derives a fixed value from the key`,
      );
      return from === "" && to === "" ? `H${step}` : `H(${from || first}-${to || last})${step}`;
    }
    if (/^\d+\/\d+$/.test(item))
      differences.push(
        `\`${item}\` is read as \`${item.replace("/", `-${last}/`)}\`; some crons read only its first number`,
      );
    return item;
  });
  if (items.some((item) => /[#?]|^LW?$|^L-|(\d|[a-z]{3})[LW]$/i.test(item)))
    differences.push(`\`${word}\` is not syntax of Vixie cron and cronie: it is read as Quartz reads it`);
  return items.join(",");
}

/** Whether a field is a step over its whole range, which cron does not count as a restriction. */
function isPartOfAll(word: string): boolean {
  return word.startsWith("*") && word !== "*";
}
