import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { commandTable } from "../lib/cli/commands/command-table.ts";
import { constructPage } from "./support/construct-page.ts";
import { settingAreas } from "./support/setting-areas.ts";
import { optionsOf } from "./support/settings-options.ts";
import { settingsPage } from "./support/settings-page.ts";

const root = path.join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
const pages = ["README.md", ...readdirSync(path.join(root, "docs")).map((file) => `docs/${file}`)].filter(
  (file) => file.endsWith(".md"),
);

/** Code blocks that name a file: its path follows the language. */
const shown = pages.flatMap((page) =>
  [...read(page).matchAll(/^```ts (\S+)\n(.*?)^```/gms)].map(([, file = "", code = ""]) => ({
    page,
    file,
    code,
  })),
);

describe("the pages", () => {
  test.each(shown)("$page shows $file unchanged", ({ file, code }) => {
    expect(code).toBe(read(file));
  });

  test("the pages show at least two files", () => {
    expect(shown.length).toBeGreaterThan(1);
  });

  test.each(pages)("%s links only to headings and files that exist", (page) => {
    const text = read(page);
    for (const [, target = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [file = "", anchor] = target.split("#");
      const linked = file === "" ? text : read(path.join(path.dirname(page), file));
      if (anchor !== undefined) expect(anchorsOf(linked), target).toContain(anchor);
    }
  });
});

/** The words after `carillon` where a line or a span of code begins with it, or where npx starts it. */
function commandsIn(page: string): string[] {
  const spans = [...read(page).matchAll(/`([^`\n]+)`|^```(?:sh|text)\n(.*?)^```/gms)].map(
    ([, span, block]) => span ?? block ?? "",
  );
  return spans.flatMap((code) =>
    [...code.matchAll(/(?:^|\bnpx )carillon ([a-z][a-z-]*)/gm)].map(([, word = ""]) => word),
  );
}

// `carillon ready` is a line that a program prints.
const known = new Set([
  ...commandTable.flatMap(({ name, alias }) => [name, alias]),
  "help",
  "version",
  "ready",
]);

test.each(pages.filter((page) => page !== "docs/decisions.md"))(
  "%s names only commands of the CLI that exist",
  (page) => {
    expect(commandsIn(page).filter((word) => !known.has(word))).toEqual([]);
  },
);

test("the pages name more than thirty commands of the CLI", () => {
  expect(new Set(pages.flatMap(commandsIn)).size).toBeGreaterThan(30);
});

test.each(pages)("%s lists the resources of a stack by a command that lists more than a hundred", (page) => {
  // `describe-stack-resources` ends after a hundred, and the default template has more.
  expect(read(page)).not.toContain("describe-stack-resources");
});

describe("the threats of docs/security.md", () => {
  const section = /\n## Threats and defences\n(.*?)\n## /s.exec(read("docs/security.md"))?.[1] ?? "";
  const rows = [...section.matchAll(/^\| (.+?) \| (.+?) \| (.+) \| (.+?) \|$/gm)]
    .slice(1)
    .map(([, attacker = "", goal = "", , shownBy = ""]) => ({ attacker, goal, shownBy }));

  test("docs/security.md has more than twenty threats", () => {
    expect(rows.length).toBeGreaterThan(20);
  });

  test.each(rows)("the defence against $attacker, $goal, has tests that exist", ({ attacker, shownBy }) => {
    const tests = [...shownBy.matchAll(/`(test\/[^`]+)`/g)].map(([, file = ""]) => file);
    if (attacker !== "a user of the AWS account") expect(tests.length).toBeGreaterThan(0);
    for (const file of tests) expect([file, existsSync(path.join(root, file))]).toEqual([file, true]);
  });
});

const readmes = [
  ...readdirSync(path.join(root, "infra", "tools", "package", "readme")).map(
    (file) => `infra/tools/package/readme/${file}`,
  ),
  "lib/tools/create/project/README.md",
];

test.each(readmes)(
  "%s, which is read outside of the repository, links by its address to what exists",
  (readme) => {
    const { homepage }: { homepage: string } = JSON.parse(read("package.json"));
    const inside = `${homepage.replace(/#.*/, "")}/blob/main/`;
    for (const [, target = ""] of read(readme).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (target === homepage) continue;
      expect(target).toMatch(new RegExp(`^${inside}`));
      const [file = "", anchor] = target.slice(inside.length).split("#");
      const linked = read(file);
      if (anchor !== undefined) expect(anchorsOf(linked), target).toContain(anchor);
    }
  },
);

test("docs/settings.md has every setting as the code defines it; if not, run npm run settings", () => {
  expect(read("docs/settings.md")).toBe(settingsPage());
});

test("docs/construct.md has every member of the construct as the code defines it; if not, run npm run settings", () => {
  expect(read("docs/construct.md")).toBe(constructPage());
});

test.each(settingAreas)(
  "The declarations of the area %s have every setting as the code defines it; if not, run npm run settings",
  (area) => expect(read(`infra/settings/options/${area}.ts`)).toBe(optionsOf(area)),
);

/** Anchors as GitHub makes them. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(" ", "-"),
  );
}
