import { describe, expect, test } from "vitest";
import { lifecycleFrom } from "../../lib/config/lifecycle.ts";

describe("the setting", () => {
  test("without the lifecycle setting, dead and missed jobs are reported to the default bus", () => {
    expect(lifecycleFrom({})).toEqual({ notify: ["dead", "missed"], bus: "default" });
    expect(lifecycleFrom({ LIFECYCLE_EVENTS: "", CARILLON_EVENTS_BUS: "" })).toEqual(lifecycleFrom({}));
  });

  test("the lifecycle setting takes a list in any order, or none", () => {
    const set = { LIFECYCLE_EVENTS: "failed, started ,failed", CARILLON_EVENTS_BUS: "ops" };
    expect(lifecycleFrom(set)).toEqual({ notify: ["started", "failed"], bus: "ops" });
    expect(lifecycleFrom({ LIFECYCLE_EVENTS: "none" }).notify).toEqual([]);
  });

  test("an invalid lifecycle setting is refused with the valid names", () => {
    expect(() => lifecycleFrom({ LIFECYCLE_EVENTS: "dead,done" })).toThrow(
      'The environment variable LIFECYCLE_EVENTS is "dead,done"; it takes some of started, succeeded, failed, dead, skipped, missed, with commas between them, or none, not done.',
    );
    expect(() => lifecycleFrom({ LIFECYCLE_EVENTS: "none,dead" })).toThrow("not none");
    expect(() => lifecycleFrom({ LIFECYCLE_EVENTS: "," })).toThrow("it takes some of");
  });
});
