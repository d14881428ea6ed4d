import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Consumer, consumers } from "../../lib/quarantine/quarantine.ts";

/** The file that shows of a consumer that one bad row stops no other. */
const shownIn: Readonly<Record<Consumer, string>> = {
  archive: "days.test.ts",
  backlog: "backlog.test.ts",
  "calendar-replan": "../plan/calendars.test.ts",
  "day-drop": "days.test.ts",
  "day-look": "days.test.ts",
  ended: "ended.test.ts",
  "ended-hold": "holds.test.ts",
  follower: "follower.test.ts",
  inbox: "inbox.test.ts",
  lane: "lane.test.ts",
  lease: "lease.test.ts",
  offer: "lease.test.ts",
  plan: "plan.test.ts",
  purge: "purge.test.ts",
  "shared-hold": "shared-hold.test.ts",
  tally: "tally.test.ts",
  target: "target.test.ts",
  turn: "turn.test.ts",
  "unused-target": "unused-target.test.ts",
  "wanted-hold": "holds.test.ts",
  "zone-replan": "../plan/zone-data.test.ts",
};

test("Every consumer has its row in the table", () => {
  expect(Object.keys(shownIn)).toEqual(consumers);
});

test.each(Object.entries(shownIn))(
  "The bad row of the consumer %s is tested where the table says (%s)",
  (consumer, file) => {
    const path = new URL(file, import.meta.url);
    expect(existsSync(path)).toBe(true);
    expect(readFileSync(path, "utf8")).toMatch(new RegExp(`["']${consumer}["']`));
  },
);
