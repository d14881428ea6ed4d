import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { handlers } from "../functions/handlers.ts";

const root = path.resolve(import.meta.dirname, "..");

/**
 * The order of imports: a unit may import the units on the lines before it. Units on one line do
 * not import each other.
 */
const order = [
  ["refusal", "clock", "log", "bounded-map", "client"],
  ["config"],
  ["db", "webhook"],
  ["cadence", "quarantine"],
  ["quota"],
  ["schedule", "idempotency"],
  ["sealing"],
  ["job"],
  ["parcel", "token"],
  ["limit", "pulse"],
  ["plan"],
  ["history"],
  ["explain", "edit"],
  ["batch", "agenda"],
  ["rules"],
  ["job-control"],
  ["target"],
  ["lifecycle"],
  ["audit", "canary", "command", "retention", "stats"],
  ["archive", "ingest", "move", "put-preview", "stack"],
  ["inbox"],
  ["problems"],
  ["tick", "worker", "api", "page"],
  ["site"],
  ["functions"],
  ["tools/local", "tools/create", "infra"],
  ["tools/testing"],
  ["mcp"],
  ["cli"],
  ["tools/dev"],
  // Commands for developers of Carillon, which no part of it imports.
  ["tools/migration", "tools/prose", "tools/supply"],
];

const sources = ["lib", "functions", "infra"].flatMap(filesIn);
const tests = filesIn("test");

function filesIn(folder: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)));
}

const textOf = (file: string) => readFileSync(path.join(root, file), "utf8");

/**
 * The unit of a file: `lib/plan/fire.ts` belongs to `plan`, `lib/clock.ts` to `clock`,
 * `lib/tools/local/start.ts` to `tools/local`, and `functions/jobs/greet.ts` to `functions`.
 */
function unitOf(file: string): string {
  const [top = "", second = "", third = ""] = file.split(path.sep);
  if (second === "tools" && top === "lib") return `tools/${third}`;
  return top === "lib" ? second.replace(/\.tsx?$/, "") : top;
}

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
}

function importsOf(file: string): Import[] {
  const found = textOf(file).matchAll(
    /(?:^|\n)(?:import|export)\s+(type\s)?[^"';]*?from\s+"(\.[^"]+)"|import\("(\.[^"]+)"\)|(?:^|\n)import\s+"(\.[^"]+)"/g,
  );
  return [...found].map(([, type, from, lazy, bare]) => ({
    from: file,
    to: path.relative(root, path.resolve(root, path.dirname(file), from ?? lazy ?? bare ?? "")),
    typeOnly: type !== undefined,
  }));
}

/** Each set of two or more nodes that reach each other, by Tarjan's algorithm. */
function circlesOf(edges: readonly (readonly [string, string])[]): string[][] {
  const next = Map.groupBy(edges, ([from]) => from);
  const found = new Map<string, { index: number; low: number; open: boolean }>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (node: string) => {
    const own = { index: found.size, low: found.size, open: true };
    found.set(node, own);
    stack.push(node);
    for (const [, to] of next.get(node) ?? []) {
      const other = found.get(to) ?? visit(to);
      if (other.open) own.low = Math.min(own.low, other.low);
    }
    if (own.low === own.index) {
      const circle = stack.splice(stack.indexOf(node));
      for (const each of circle) Object.assign(found.get(each) ?? own, { open: false });
      if (circle.length > 1) circles.push(circle.sort());
    }
    return own;
  };
  for (const node of next.keys()) if (!found.has(node)) visit(node);
  return circles;
}

const rank = (unit: string) => order.findIndex((line) => line.includes(unit));

describe("the layout of the sources", () => {
  test("every folder has a position in the order of imports", () => {
    expect([...new Set(sources.map(unitOf))].filter((unit) => rank(unit) < 0)).toEqual([]);
  });

  test("imports run one way", () => {
    const wrong = sources
      .flatMap(importsOf)
      .map((each) => ({ ...each, units: [unitOf(each.from), unitOf(each.to)] as const }))
      .filter(({ units: [from, to] }) => from !== to && rank(to) >= rank(from));
    expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([]);
  });

  test("no files import each other in a circle, not even types", () => {
    const circle = [
      ["a", "b"],
      ["b", "c"],
      ["c", "a"],
      ["c", "d"],
    ] as const;
    expect(circlesOf(circle)).toEqual([["a", "b", "c"]]);
    expect(circlesOf(sources.flatMap(importsOf).map(({ from, to }) => [from, to]))).toEqual([]);
  });

  test("no folders import each other in a circle, where a file beside subfolders counts as a folder", () => {
    const folders = new Set(sources.map((file) => path.dirname(path.dirname(file))));
    const folderOf = (file: string) => (folders.has(path.dirname(file)) ? file : path.dirname(file));
    const between = sources
      .filter((file) => file.startsWith("lib"))
      .flatMap(importsOf)
      .map(({ from, to }) => [folderOf(from), folderOf(to)] as const);
    expect(circlesOf(between.filter(([from, to]) => from !== to))).toEqual([]);
  });

  test("a folder of lib/ has at most 27 files", () => {
    const files = Map.groupBy(
      sources.filter((file) => file.startsWith("lib")),
      path.dirname,
    );
    expect([...files].filter(([, room]) => room.length > 27).map(([room]) => room)).toEqual([]);
  });

  test("infra/ names files of the program by path, and imports only their types, limits of lib/config, and the check of schedules at synth in lib/stack", () => {
    const taken = sources.filter((file) => unitOf(file) === "infra").flatMap(importsOf);
    const known = ["infra", "config", "stack"];
    expect(taken.filter(({ to, typeOnly }) => !known.includes(unitOf(to)) && !typeOnly)).toEqual([]);
  });

  test("the program imports no tests", () => {
    expect(sources.flatMap(importsOf).filter(({ to }) => unitOf(to) === "test")).toEqual([]);
  });
});

describe("a file", () => {
  test("a file has at most 300 lines", () => {
    const long = sources.filter((file) => textOf(file).split("\n").length - 1 > 300);
    expect(long).toEqual([]);
  });

  test("a file is named for its content: there are no barrels and no files for mixed content", () => {
    const drawers = /(^|\/)(index|utils?|helpers?|misc|common|shared|types|constants)(\.tsx?|\/)/;
    expect([...sources, ...tests].filter((file) => drawers.test(file))).toEqual([]);
    expect(sources.filter((file) => /\nexport \* from/.test(textOf(file)))).toEqual([]);
  });

  test("a file is named in small letters and hyphens", () => {
    const odd = [...sources, ...tests].filter(
      (file) => !/^[a-z0-9-]+(\.test|\.config)?\.tsx?$/.test(path.basename(file)),
    );
    expect(odd).toEqual([]);
  });

  test("a file of functions/jobs is a handler of that name, and functions/handlers.ts lists it", () => {
    const files = sources.filter((file) => file.startsWith(path.join("functions", "jobs")));
    const names = files.map((file) => path.basename(file, ".ts")).sort();
    expect(handlers.map(({ name }) => name).sort()).toEqual(names);
  });
});
