import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { metricUnits } from "../../lib/log/metrics.ts";
import { wording } from "../../lib/log/wording.ts";

const page = readFileSync(path.resolve(import.meta.dirname, "../../docs/observability.md"), "utf8");

describe("docs/observability.md", () => {
  test("docs/observability.md has every metric with its unit, and no other", () => {
    const rows = [...page.matchAll(/^\| `([A-Z]\w+)` \| (\w+) \|/gm)].map(([, name, unit]) => [name, unit]);
    expect(rows).toEqual(Object.entries(metricUnits));
  });

  test("docs/observability.md has every prefix of events, and no other", () => {
    const kinds = [...page.matchAll(/^\| (`[a-z]+\.`(?:, `[a-z]+\.`)*) \|/gm)].flatMap(([, listed = ""]) =>
      [...listed.matchAll(/`([a-z]+)\.`/g)].map(([, kind]) => kind),
    );
    const worded = new Set(Object.keys(wording).map((event) => event.split(".")[0]));
    expect(kinds.toSorted()).toEqual([...worded].toSorted());
  });

  test("docs/observability.md names only events that exist", () => {
    const [, named = ""] = /^Worth an alarm.*?: (.*)$/m.exec(page) ?? [];
    const events = [...named.matchAll(/`([a-z.-]+)`/g)].map(([, event = ""]) => event);
    expect(events.length).toBeGreaterThan(3);
    expect(events.filter((event) => !(event in wording))).toEqual([]);
  });
});
