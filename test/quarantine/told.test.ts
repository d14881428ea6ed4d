import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { consumers } from "../../lib/quarantine/quarantine.ts";

test.each(["observability", "runbook"])("docs/%s.md explains every consumer of the quarantine", (page) => {
  const text = readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), "utf8");
  const [, rows = ""] = text.split("| consumer |");
  const named = (rows.split("\n\n")[0] ?? "")
    .split("\n")
    .flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([a-z-]+)`/g)].map(([, name]) => name));
  expect(consumers.filter((consumer) => !named.includes(consumer))).toEqual([]);
});
