import { describe, expect, test } from "vitest";
import { type Dst, nextAfter } from "../../lib/cadence/cadence.ts";
import { parseWhen, type WhenContext } from "../../lib/cadence/when/parse-when.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const berlin: WhenContext = { timezone: "Europe/Berlin", now, key: "a" };

function on(day: string, when: string, dst: Dst | null): string[] {
  const parsed = parseWhen(when, { ...berlin, dst });
  if (!parsed.ok) throw new Error(parsed.message);
  const found: string[] = [];
  let at = nextAfter(parsed.cadence, Date.parse(`${day}T00:00:00Z`) - 3_600_001);
  while (at !== null && at < Date.parse(`${day}T02:00:00Z`)) {
    found.push(new Date(at).toISOString().slice(11, 16));
    at = nextAfter(parsed.cadence, at);
  }
  return found;
}

describe("in a missing hour", () => {
  test.each<[string, Dst | null, string[]]>([
    ["30 2 * * *", null, ["01:00"]],
    ["30 2 * * *", { gap: "next" }, ["01:00"]],
    ["30 2 * * *", { gap: "skip" }, []],
    ["15,45 2 * * *", { gap: "next", overlap: "both" }, ["01:00"]],
    ["*/30 2 * * *", null, []],
    ["*/30 2 * * *", { overlap: "first" }, []],
    ["*/30 2 * * *", { gap: "next" }, ["01:00"]],
    ["*/30 1-3 * * *", { gap: "next" }, ["00:00", "00:30", "01:00", "01:30"]],
    ["*/30 1-3 * * *", { gap: "skip" }, ["00:00", "00:30", "01:00", "01:30"]],
    ["10/20 1-3 * * *", { gap: "next" }, ["00:10", "00:30", "00:50", "01:00", "01:10", "01:30", "01:50"]],
  ])("in a missing hour %j with `dst` %j runs at %j", (when, dst, times) => {
    expect(on("2026-03-29", when, dst)).toEqual(times);
  });
});

describe("in a repeated hour", () => {
  test.each<[string, Dst | null, string[]]>([
    ["30 2 * * *", null, ["00:30"]],
    ["30 2 * * *", { overlap: "first" }, ["00:30"]],
    ["30 2 * * *", { overlap: "last" }, ["01:30"]],
    ["30 2 * * *", { overlap: "both" }, ["00:30", "01:30"]],
    ["30 2 25 10 *", { overlap: "both" }, ["00:30", "01:30"]],
    ["cron(30 2 25 10 ? 2026)", { overlap: "both" }, ["00:30", "01:30"]],
    ["*/30 2 * * *", null, ["00:00", "00:30", "01:00", "01:30"]],
    ["*/30 2 * * *", { overlap: "first" }, ["00:00", "00:30"]],
    ["*/30 2 * * *", { overlap: "last" }, ["01:00", "01:30"]],
    ["*/30 1-2 * * *", { gap: "next", overlap: "last" }, ["23:00", "23:30", "01:00", "01:30"]],
  ])("in a repeated hour %j with `dst` %j runs at %j", (when, dst, times) => {
    expect(on("2026-10-25", when, dst)).toEqual(times);
  });
});

describe("a time of the wall clock", () => {
  test.each<[string, Dst | null, string]>([
    ["at 2026-10-25T02:30", null, "2026-10-25T00:30Z"],
    ["at 2026-10-25T02:30", { overlap: "last" }, "2026-10-25T01:30Z"],
    ["at 2026-10-25T02:30", { overlap: "both" }, "2026-10-25T00:30Z"],
    ["at 2026-03-29T02:30", { gap: "next" }, "2026-03-29T01:00Z"],
    ["at 2026-03-29T02:30+01:00", { gap: "skip" }, "2026-03-29T01:30Z"],
    ["at 2026-03-29T03:00", { gap: "skip" }, "2026-03-29T01:00Z"],
  ])("%j with `dst` %j is %s", (when, dst, instant) => {
    expect(parseWhen(when, { ...berlin, dst })).toMatchObject({
      cadence: { kind: "once", at: Date.parse(instant) },
    });
  });

  test("a wall time that comes twice or does not exist has a warning that says when it runs", () => {
    const warnings = (when: string, dst: Dst | null) => {
      const parsed = parseWhen(when, { ...berlin, dst });
      return parsed.ok ? parsed.warnings : [];
    };
    const twice = "2026-10-25 02:30 comes twice in Europe/Berlin; it runs on";
    expect(warnings("at 2026-10-25T02:30", null)).toEqual([`${twice} the first pass.`]);
    expect(warnings("at 2026-10-25T02:30", { overlap: "last" })).toEqual([`${twice} the last pass.`]);
    expect(warnings("at 2026-10-25T02:30", { overlap: "both" })).toEqual([
      `${twice} the first pass, since a time runs once.`,
    ]);
    expect(warnings("at 2026-03-29T02:30", null)).toEqual([
      "2026-03-29 02:30 does not exist in Europe/Berlin; it runs at 03:00 then.",
    ]);
    expect(warnings("at 2026-10-25T03:00", { overlap: "both" })).toEqual([]);
  });

  test("a wall time that dst.gap skips is refused, since it never runs", () => {
    expect(parseWhen("at 2026-03-29T02:30", { ...berlin, dst: { gap: "skip" } })).toMatchObject({
      ok: false,
      kind: "invalid",
      position: 3,
      message: '2026-03-29 02:30 does not exist in Europe/Berlin and dst.gap is "skip", so this never runs.',
    });
  });
});

test("a `dst` without fields counts as none", () => {
  for (const dst of [null, {}, { gap: undefined, overlap: undefined }]) {
    expect(parseWhen("0 9 * * *", { ...berlin, dst })).toEqual(parseWhen("0 9 * * *", berlin));
  }
});
