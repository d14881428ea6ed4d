/** When a line of a crontab runs, in the words of a schedule. */
export interface CrontabWhen {
  when: string;
  /** Cron takes it for a fixed time and Carillon, left alone, for an interval: clocks that change would part them. */
  isFixedTimeForCronAlone: boolean;
  differences: string[];
  faults: string[];
}

const nicknames: ReadonlySet<string> = new Set(
  "@yearly @annually @monthly @weekly @daily @midnight @hourly".split(" "),
);

/** The last value of each field, for ranges that are open at their end. */
const fields = [
  { first: 0, last: 59 },
  { first: 0, last: 23 },
  { first: 1, last: 31 },
  { first: 1, last: 12 },
  { first: 0, last: 6 },
] as const;

/** Reads as cronie and Vixie cron do; what they read otherwise than Carillon is written so that it means the same, or told. */
export function crontabWhen(text: string): CrontabWhen {
  if (text.startsWith("@")) return nickname(text.toLowerCase());
  const differences: string[] = [];
  const faults: string[] = [];
  const words = text.split(" ").map((word, index) => fieldText(word, index, differences));
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = words;
  if ((isPartOfAll(day) && weekday !== "*") || (isPartOfAll(weekday) && day !== "*"))
    faults.push(
      "cron runs it on days that match both day fields, since one of them begins with `*`; Carillon on days that match either: write one of them as a list of days, or split it",
    );
  return {
    when: [minute, hour, day, month, weekday].join(" "),
    isFixedTimeForCronAlone:
      !minute.startsWith("*") && !hour.startsWith("*") && /[*/]/.test(`${minute} ${hour}`),
    differences,
    faults,
  };
}

function nickname(word: string): CrontabWhen {
  const read = { when: word, isFixedTimeForCronAlone: false, differences: [], faults: [] };
  if (nicknames.has(word)) return read;
  if (word === "@every_minute") return { ...read, when: "* * * * *" };
  if (word === "@reboot")
    return { ...read, faults: ["@reboot names no time: nothing boots here, so it can never run"] };
  return { ...read, faults: [`${word} is not known`] };
}

function fieldText(word: string, index: number, differences: string[]): string {
  // To cron what begins with `*` leaves the other day field alone, `*/1` as well as `*`.
  if (/^\*(\/1)?(,|$)/.test(word)) return "*";
  const { first, last } = fields[index] ?? fields[0];
  const items = word.split(",").map((item) => {
    const [random, from = "", to = "", step = ""] = /^(\d*)~(\d*)(\/\d+)?$/.exec(item) ?? [];
    if (random !== undefined) {
      differences.push(
        `\`${item}\`: cron draws a value each time it reads the table; here it follows from the key and stays`,
      );
      return from === "" && to === "" ? `H${step}` : `H(${from || first}-${to || last})${step}`;
    }
    if (/^\d+\/\d+$/.test(item))
      differences.push(
        `\`${item}\` is read as \`${item.replace("/", `-${last}/`)}\`; some crons take it for its first number alone`,
      );
    return item;
  });
  if (items.some((item) => /[#?]|^LW?$|^L-|(\d|[a-z]{3})[LW]$/i.test(item)))
    differences.push(`\`${word}\` is no syntax of Vixie cron and cronie: it is read as Quartz does`);
  return items.join(",");
}

/** Every n-th of all, which cron does not count as a restriction. */
function isPartOfAll(word: string): boolean {
  return word.startsWith("*") && word !== "*";
}
