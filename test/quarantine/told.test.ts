import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { consumers } from "../../lib/quarantine/quarantine.ts";

test.each(["docs/%s.md explains every consumer of the quarantine", "runbook"])(
  "docs/%s.md says of every consumer what waits for it",
  (page) => {
    const text = readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), "utf8");
    const [, rows = ""] = text.split("| consumer |");
    const named = (rows.split("\n\n")[0] ?? "")
      .split("\n")
      .flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([a-z-]+)`/g)].map(([, name]) => name));
    expect(consumers.filter((consumer) => !named.includes(consumer))).toEqual([]);
  },
);
