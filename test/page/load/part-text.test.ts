import { expect, test } from "vitest";
import { partText } from "../../../lib/page/data/load/part-text.ts";

const part = { timezone: null, when: null, owner: null, fires: 1_288 };

test.each([
  [{ ...part, kind: "cron", when: "*/5 * * * *", timezone: "UTC" }, "1,288 of */5 * * * *"],
  [{ ...part, kind: "made" }, "1,288 that are made already"],
  [{ ...part, kind: "once" }, "1,288 of single times"],
  [{ ...part, kind: "release", owner: "ops" }, "1,288 of the hold of ops"],
] as const)("A part of a heavy minute of the kind $0.kind is said in words", (given, text) => {
  expect(partText(given)).toBe(text);
});
