import { describe, expect, test } from "vitest";
import { fugitWhen } from "../../../lib/cli/formats/neighbours/fugit-when.ts";
import { fugitPart } from "../../../lib/cli/formats/neighbours/ruby-jobs.ts";
import { bodyFaults, comingOf } from "./reading.ts";

function found(text: string, timezone?: string) {
  const { body, ...rest } = fugitPart(text, timezone, "its own zone");
  return { from: "", key: "a", body: { target: { queue: "a" }, ...body }, ...rest };
}

describe("cron of fugit", () => {
  test.each([
    ["0 9 * * 1-5", "0 9 * * 1-5"],
    ["*/5 * * * *", "*/5 * * * *"],
    ["/5 * * * *", "*/5 * * * *"],
    ["*/45 */24 */40 * *", "*/45 0 1 * *"],
    ["30 0 9 * * *", "30 0 9 * * *"],
    ["0 24 * * *", "0 0 * * *"],
    ["0 22-2 * * *", "0 0,1,2,22,23 * * *"],
    ["0 20-24 * * *", "0 0,20,21,22,23 * * *"],
    ["0 0 * * fri-mon", "0 0 * * 0,1,5,6"],
    ["0 0 * * 5-7", "0 0 * * 0,5,6"],
    ["0 0 * * 7", "0 0 * * 0"],
    ["0 0 * * 1/2", "0 0 * * 1"],
    ["0 0 1/10 jan,MAR *", "0 0 1/10 1,3 *"],
    ["0 0 L,-2 * *", "0 0 L,L-1 * *"],
    ["0 0 last * *", "0 0 L * *"],
    ["0 0 * * mon#2,fri#last,tue#-1", "0 0 * * 1#2,5L,2L"],
    ["0 0 1-31 * mon", "0 0 * * 1"],
    ["0 0 */1,5 * mon", "0 0 * * 1"],
    ["0 0 13 * */1", "0 0 13 * 0-6"],
    ["0 0 */2 * 1", "0 0 */2 * 1"],
    ["0 0 1-7 * mon&", "0 0 1-7 * 1&"],
    ["0 0 1-7& * mon", "0 0 1-7 * 1&"],
    ["0~29 4 * * *", "H(0-29) 4 * * *"],
    ["~ 4 * * *", "H 4 * * *"],
    ["@noon", "0 12 * * *"],
    ["@weekly", "0 0 * * 0"],
  ])("The cron %s of fugit becomes %s", (text, when) => {
    expect(fugitWhen(text)).toMatchObject({ when, zone: null, faults: [] });
    expect(bodyFaults(found(text))).toEqual([]);
  });

  test.each([
    ["0 9 * * * Europe/Berlin", "0 9 * * *", "Europe/Berlin"],
    ["0 9 * * * UTC", "0 9 * * *", "UTC"],
    ["0 0 9 * * * America/Argentina/Ushuaia", "0 0 9 * * *", "America/Argentina/Ushuaia"],
    ["@daily Asia/Tokyo", "0 0 * * *", "Asia/Tokyo"],
    ["0 0 9 * * SUN", "0 0 9 * * 0", null],
  ])("The last word of %s is read as a zone only if it is no field", (text, when, zone) => {
    expect(fugitWhen(text)).toMatchObject({ when, zone, faults: [] });
  });

  test.each([
    ["@reboot", "has no time"],
    ["0 0 * * mon%2", "`mon%2` of fugit has no equal here"],
    ["0 0 * * mon#-2", "`mon#-2`"],
    ["0 0 -5--2 * *", "`-5--2`"],
    ["0 9 * * * +09:00", "the offset +09:00"],
    ["60 9 * * *", "`60`"],
    ["*/0 9 * * *", "`*/0`"],
    ["0 0 0~9/3 * *", "`0~9/3`"],
  ])("The cron %s of fugit is impossible: %s", (text, why) => {
    expect(fugitWhen(text).faults.join()).toContain(why);
  });

  test("The differences of a cron of fugit name a `~`, whose value fugit draws at each reading", () => {
    expect(fugitWhen("0~29 4 * * *").differences.join()).toContain("draws a value");
  });

  test("The zone behind a time counts, else that of the option, else UTC with a note", () => {
    expect(found("0 9 * * * Asia/Tokyo", "Europe/Berlin").body).toMatchObject({ timezone: "Asia/Tokyo" });
    expect(found("0 9 * * *", "Europe/Berlin").body).toMatchObject({ timezone: "Europe/Berlin" });
    expect(found("0 9 * * *").differences.join()).toContain("read as UTC");
    expect(found("0 9 * * * Mars/Base").faults.join()).toContain('"Mars/Base"');
  });

  test("At clock changes fugit's rule is kept: a skipped time does not run, a repeated one runs once", () => {
    const spring = found("30 2 * * * Europe/Berlin");
    expect(comingOf(spring, "2026-03-28T12:00:00Z", 1)).toEqual(["2026-03-30T00:30:00.000Z"]);
    expect(comingOf(spring, "2026-10-24T12:00:00Z", 2)).toEqual([
      "2026-10-25T00:30:00.000Z",
      "2026-10-26T01:30:00.000Z",
    ]);
    expect(spring.differences.join()).toContain("as in fugit at clock changes");
  });
});

describe("words of fugit", () => {
  test.each([
    ["every second", "* * * * * *"],
    ["every 15 seconds", "*/15 * * * * *"],
    ["every minute", "* * * * *"],
    ["every 5 minutes", "*/5 * * * *"],
    ["every hour", "0 * * * *"],
    ["every 2 hours", "0 */2 * * *"],
    ["every day", "0 0 * * *"],
    ["every 3 days", "0 0 */3 * *"],
    ["every week", "0 0 * * 0"],
    ["every month", "0 0 1 * *"],
    ["every 4 months", "0 0 1 */4 *"],
    ["every year", "0 0 1 1 *"],
    ["every weekday", "0 0 * * 1-5"],
    ["every monday", "0 0 * * 1"],
    ["every day at 9am", "0 9 * * *"],
    ["at 9am every day", "0 9 * * *"],
    ["at 9:30 pm", "30 21 * * *"],
    ["every day at 12am", "0 0 * * *"],
    ["every day at 12pm", "0 12 * * *"],
    ["every day at noon", "0 12 * * *"],
    ["every day at midnight", "0 0 * * *"],
    ["every day at 6:00 and 18:00", "0 6,18 * * *"],
    ["every day at 6:00, 6:30", "0,30 6 * * *"],
    ["every Monday and Friday at 17:15", "15 17 * * 1,5"],
    ["every mon-thu at 18:20", "20 18 * * 1-4"],
    ["every friday to monday at 8", "0 8 * * 0,1,5,6"],
    ["every week on tuesday at 8", "0 8 * * 2"],
    ["every month at 9", "0 9 1 * *"],
    ["every month on the 1st and 15th at 9", "0 9 1,15 * *"],
    ["every month on the last at 9", "0 9 L * *"],
    ["every month on days 2 and 5 at 10:00", "0 10 2,5 * *"],
    ["every 15th of the month at 5:00", "0 5 15 * *"],
  ])("The words `%s` mean %s", (text, when) => {
    expect(fugitWhen(text)).toMatchObject({ when, faults: [] });
    expect(bodyFaults(found(text))).toEqual([]);
  });

  test("A zone behind words is read with them", () => {
    expect(fugitWhen("every day at 9am in Europe/Berlin")).toMatchObject({
      when: "0 9 * * *",
      zone: "Europe/Berlin",
    });
    expect(fugitWhen("every day at 18:00 and 20:00 UTC")).toMatchObject({ zone: "UTC" });
  });

  test.each([
    "every day at 9:00 and 17:30",
    "every hour at 9am",
    "every 5 minutes at 9am",
    "every minute from 8am to 5pm",
    "every day at five",
    "every day at 25:00",
    "every day at 13pm",
    "every fortnight",
    "every 0 days",
    "at 9 every day at 10",
    "at noon on sundays",
    "1h",
    "5 minutes",
    "",
    "<%= ENV['SCHEDULE'] %>",
  ])("The words `%s` are impossible, because they cannot be read exactly", (text) => {
    expect(fugitWhen(text).faults).toHaveLength(1);
  });
});
