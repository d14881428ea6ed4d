import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { nextAfter } from "../../lib/cadence/cadence.ts";
import { parseWhen } from "../../lib/cadence/when/parse-when.ts";
import { commandKey } from "../../lib/cli/formats/command-key.ts";
import { readCrontabs } from "../../lib/cli/formats/crontab.ts";
import { readCrontabLines } from "../../lib/cli/formats/crontab-lines.ts";
import { crontabWhen } from "../../lib/cli/formats/crontab-when.ts";
import { cases } from "../cadence/golden.ts";

const target = { queue: "commands" };

function read(text: string, params: { timezone?: string; system?: boolean } = {}) {
  const { timezone, system = false } = params;
  return readCrontabs([{ name: "crontab", text, isStdin: false }], { target, timezone, system }).found;
}

/** The first schedule of a crontab. */
function one(text: string, params: { timezone?: string; system?: boolean } = {}) {
  const [found] = read(text, params);
  if (found === undefined) throw new Error("The crontab is empty.");
  return found;
}

/** The coming occurrences of a line's schedule. */
function times(line: string, zone: string, from: number, count: number): number[] {
  const { body, faults } = one(`CRON_TZ=${zone}\n${line} /bin/true`);
  if (faults.length > 0) throw new Error(faults.join());
  const { when, dst } = body;
  if (typeof when !== "string") throw new Error("A line has one time.");
  const fixed = dst === undefined ? {} : { dst: { gap: "next", overlap: "first" } as const };
  const parsed = parseWhen(when, { timezone: zone, now: from, key: "a", ...fixed });
  if (!parsed.ok) throw new Error(parsed.message);
  const found: number[] = [];
  for (let at: number | null = from; found.length < count; found.push(at)) {
    at = nextAfter(parsed.cadence, at);
    if (at === null) break;
  }
  return found;
}

describe("the lines of a crontab", () => {
  test("Each line of a crontab with a command becomes an entry with the settings above it; other lines become none", () => {
    const text = [
      "# a comment",
      "",
      "SHELL=/bin/bash",
      "MAILTO = 'ops@example.com'",
      '"PATH"="/usr/bin:/bin"',
      "\t*/5 * * * *\t/opt/poll  --fast ",
      "   # carillon: key=backup",
      "0 3 * * * A=b /opt/backup.sh",
      "",
      "-@daily /opt/clean",
    ].join("\r\n");
    const { entries, bad } = readCrontabLines(text, { system: false });
    expect(bad).toEqual([]);
    expect(entries.map(({ line, when, command, key }) => ({ line, when, command, key }))).toEqual([
      { line: 6, when: "*/5 * * * *", command: "/opt/poll  --fast", key: null },
      { line: 8, when: "0 3 * * *", command: "A=b /opt/backup.sh", key: "backup" },
      { line: 10, when: "@daily", command: "/opt/clean", key: null },
    ]);
    expect([...(entries[0]?.variables ?? [])]).toEqual([
      ["SHELL", "/bin/bash"],
      ["MAILTO", "ops@example.com"],
      ["PATH", "/usr/bin:/bin"],
    ]);
  });

  test("A command of a system crontab has a user before it", () => {
    const { entries } = readCrontabLines("17 * * * * root cd / && run-parts", { system: true });
    expect(entries).toMatchObject([{ user: "root", command: "cd / && run-parts" }]);
    expect(readCrontabLines("17 * * * * root", { system: true }).bad).toHaveLength(1);
  });

  test("Text behind an unescaped % is the command's stdin", () => {
    expect(one(String.raw`0 0 * * * date +\%F%first%second\%`).body["payload"]).toEqual({
      command: "date +%F",
      stdin: "first\nsecond%",
    });
  });

  test("Entries are read back as they were written", () => {
    const word = fc.stringMatching(/^[a-z/.%"'$&|>\\ -]{1,20}$/).map((text) => `x${text.trim()}`);
    const line = fc.record({
      when: fc.constantFrom("* * * * *", "0 3 * * mon-fri", "*/5 1,2 1-7/2 jan 0", "@daily"),
      user: fc.stringMatching(/^[a-z][a-z0-9_-]{0,8}$/),
      command: word.filter((text) => !/\\(%|$)/.test(text)),
      stdin: fc.option(word.filter((text) => !text.includes("\\"))),
      blanks: fc.constantFrom(" ", "\t", "  "),
    });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), fc.boolean(), (lines, system) => {
        const escaped = (text: string) => text.replaceAll("%", "\\%");
        const text = lines
          .map(({ when, user, command, stdin, blanks }) =>
            [
              when.replaceAll(" ", blanks),
              ...(system ? [user] : []),
              escaped(command) + (stdin === null ? "" : `%${escaped(stdin)}`),
            ].join(blanks),
          )
          .join("\n# between\n\n");
        const { entries, bad } = readCrontabLines(text, { system });
        expect(bad).toEqual([]);
        expect(entries.map(({ when, user, command, stdin }) => ({ when, user, command, stdin }))).toEqual(
          lines.map(({ when, user, command, stdin }) => ({
            when,
            user: system ? user : null,
            command,
            stdin,
          })),
        );
      }),
    );
  });
});

describe("the times of a crontab", () => {
  test.each(cases)(
    "A crontab's times match the golden cases: $expr in $tz",
    ({ expr, tz, from, expected }) => {
      // Cases with five fields whose day fields cron combines as Carillon does.
      expect(times(expr, tz, from, expected.length)).toEqual(expected);
    },
  );

  test("A crontab's times match a model of cron that checks each minute", () => {
    const number = (first: number, last: number) => fc.integer({ min: first, max: last });
    const item = (first: number, last: number) =>
      fc.oneof(
        fc.constant("*"),
        number(2, 7).map((step) => `*/${step}`),
        number(first, last).map(String),
        fc
          .tuple(number(first, last), number(first, last), number(1, 3))
          .map(([a, b, step]) => `${Math.min(a, b)}-${Math.max(a, b)}${step === 1 ? "" : `/${step}`}`),
      );
    const field = (first: number, last: number) =>
      fc.array(item(first, last), { minLength: 1, maxLength: 3 }).map((items) => items.join(","));
    const line = fc.tuple(field(0, 59), field(0, 23), field(1, 28), fc.constant("*"), field(0, 7));
    const from = Date.UTC(2026, 1, 25, 11, 7);
    fc.assert(
      fc.property(line, (fields) => {
        expect(crontabWhen(fields.join(" ")).faults).toEqual([]);
        const minutes = Array.from({ length: 4_000 }, (_, at) => from + (at + 1) * 60_000);
        const expected = minutes.filter((at) => cronMatches(fields, new Date(at)));
        const own = times(fields.join(" "), "UTC", from, expected.length + 1);
        expect(own.filter((at) => at <= (minutes.at(-1) ?? 0))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  test("A time that cron counts as fixed runs once in a repeated hour, and once after a skipped hour", () => {
    const autumn = times("30 0-4/2 * * *", "Europe/Berlin", Date.UTC(2026, 9, 24, 21), 3);
    expect(autumn.map((at) => new Date(at).toISOString())).toEqual([
      "2026-10-24T22:30:00.000Z",
      "2026-10-25T00:30:00.000Z",
      "2026-10-25T03:30:00.000Z",
    ]);
    const spring = times("30 0-4/2 * * *", "Europe/Berlin", Date.UTC(2026, 2, 28, 23, 45), 2);
    expect(spring.map((at) => new Date(at).toISOString())).toEqual([
      "2026-03-29T01:00:00.000Z",
      "2026-03-29T02:30:00.000Z",
    ]);
  });

  test("The zone of a line is that of the last CRON_TZ above it, else that of the option, else UTC with a note", () => {
    const [above, below, colon] = read(
      "0 0 * * * a\nCRON_TZ=europe/berlin\n0 0 * * * b\nCRON_TZ=:Asia/Tokyo\n0 0 * * * c",
    );
    expect(above).toMatchObject({ body: { timezone: "UTC" } });
    expect(above?.differences.join()).toContain("no CRON_TZ");
    expect([below?.body["timezone"], colon?.body["timezone"]]).toEqual(["Europe/Berlin", "Asia/Tokyo"]);
    expect(one("0 0 * * * a", { timezone: "Asia/Tokyo" })).toMatchObject({
      body: { timezone: "Asia/Tokyo" },
      differences: expect.not.arrayContaining([expect.stringContaining("CRON_TZ")]),
    });
    expect(one("TZ=Asia/Tokyo\n0 0 * * * a").differences.join()).toContain("TZ=Asia/Tokyo is read as");
    expect(one("CRON_TZ=Mars\n0 0 * * * a").faults.join()).toContain('"Mars"');
  });

  test.each([
    ["@reboot", "has no time"],
    ["@fortnightly", "is not known"],
  ])("The time %s cannot be imported: %s", (when, why) => {
    expect(one(`${when} x`).faults.join()).toContain(why);
  });

  test.each([
    ["0~29 4 * * *", "H(0-29) 4 * * *", "picks a value"],
    ["~ ~/6 * * *", "H H/6 * * *", "picks a value"],
    ["5/10 * * * *", "5/10 * * * *", "5-59/10"],
    ["0 0 */1 * 1", "0 0 * * 1", ""],
    ["0 0 *,5 * 1", "0 0 * * 1", ""],
    ["0 0 */2 * 1", "0 0 */2 * 1&", "match both"],
    ["0 0 1 * */2", "0 0 1 * */2&", "match both"],
    ["0 0 */2 * *", "0 0 */2 * *", ""],
    ["0 0 L * *", "0 0 L * *", "Quartz"],
    ["0 0 * * 1#2", "0 0 * * 1#2", "Quartz"],
  ])("The time %s becomes %s", (written, when, told) => {
    const { body, differences } = one(`${written} x`);
    expect(body["when"]).toBe(when);
    expect(differences.join()).toContain(told);
  });

  test("A RANDOM_DELAY becomes a spread", () => {
    expect(one("RANDOM_DELAY=15\n0 0 * * * x").body["spread"]).toBe("15m");
  });

  test("Names of months and days in a crontab are not taken for the syntax of Quartz", () => {
    expect(one("0 0 * jul wed x", { timezone: "UTC" }).differences.join()).not.toContain("Quartz");
  });
});

describe("the key of a line", () => {
  test("A line's key depends on its command, not on its time or other lines", () => {
    const key = one("0 3 * * * /opt/backup.sh --full").key;
    expect(read("1 1 * * * other\n5 4 * * * /opt/backup.sh --full")[1]?.key).toBe(key);
    expect(one("0 3 * * * /opt/backup.sh --part").key).not.toBe(key);
  });

  test("A command that occurs twice gets two keys", () => {
    const keys = read("0 3 * * * x\n0 4 * * * x").map(({ key }) => key);
    expect(new Set(keys).size).toBe(2);
  });

  test.each([
    ["/usr/local/bin/backup.sh --full > /dev/null", "backup-sh"],
    ["cd /srv/app && php artisan schedule:run >> log", "php-artisan"],
    ["curl -H 'Authorization: Bearer hunter2' https://example.com", "curl"],
    ["mysql app hunter2hunter2hunter2hunter2", "mysql-app"],
    ["TOKEN=hunter2 sync", "sync"],
  ])("The key of %s begins with %s and shows no secret", (command, slug) => {
    expect(commandKey(command, "")).toMatch(new RegExp(`^${slug}-[0-9a-f]{8}$`));
  });
});

test("Settings that are lost are noted, variables without their values", () => {
  const told = one("MAILTO=ops\nPASSWORD=hunter2\n0 0 * * * x").differences.join();
  for (const word of ["MAILTO", "PASSWORD", "no shell", "runs it once", "missed"])
    expect(told).toContain(word);
  expect(told).not.toContain("hunter2");
});

/** Whether Vixie cron and cronie run in a minute. */
function cronMatches([minute, hour, day, , weekday]: readonly string[], at: Date): boolean {
  const isIn = (field: string | undefined, value: number, first: number, last: number) =>
    (field ?? "").split(",").some((item) => {
      const [range = "", step = "1"] = item.split("/");
      const [from = "", to = from] = range === "*" ? [String(first), String(last)] : range.split("-");
      return value >= Number(from) && value <= Number(to) && (value - Number(from)) % Number(step) === 0;
    });
  const dayFits = isIn(day, at.getUTCDate(), 1, 31);
  const weekdayFits = isIn(weekday, at.getUTCDay(), 0, 6) || (at.getUTCDay() === 0 && isIn(weekday, 7, 0, 7));
  const both = day?.startsWith("*") === true || weekday?.startsWith("*") === true;
  return (
    isIn(minute, at.getUTCMinutes(), 0, 59) &&
    isIn(hour, at.getUTCHours(), 0, 23) &&
    (both ? dayFits && weekdayFits : dayFits || weekdayFits)
  );
}
