import { parseArgs } from "node:util";
import { benchmarksPage, writeSection } from "./page.ts";
import type { BenchModule } from "./report.ts";

/**
 * Loaded one at a time: the dependencies of one bench (such as a peer's package) must not affect
 * the others.
 */
const benches: Readonly<Record<string, () => Promise<BenchModule>>> = {
  api: () => import("./api.ts"),
  fire: () => import("./fire.ts"),
  drain: () => import("./drain.ts"),
  memory: () => import("./memory.ts"),
  growth: () => import("./growth.ts"),
  ticks: () => import("./ticks.ts"),
  store: () => import("./store.ts"),
  variants: () => import("./variants.ts"),
  "held-xmin": () => import("./held-xmin.ts"),
  "move-in": () => import("./move-in.ts"),
  ingest: () => import("./ingest.ts"),
  pulse: () => import("./pulse.ts"),
  forecast: () => import("./forecast.ts"),
  search: () => import("./search.ts"),
  series: () => import("./series.ts"),
  agenda: () => import("./agenda.ts"),
  questions: () => import("./questions.ts"),
  page: () => import("./in-browser.ts"),
  kit: () => import("./kit.ts"),
  bundle: () => import("./bundle.ts"),
  cron: () => import("./cron.ts"),
  peers: () => import("./peers.ts"),
  lateness: () => import("./lateness.ts"),
  fairness: () => import("./fairness.ts"),
  soak: () => import("./soak.ts"),
  scale: () => import("./scale.ts"),
};

const common = {
  "data-dir": { type: "string" },
  json: { type: "boolean", default: false },
  page: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

async function help(): Promise<string> {
  const lines = await Promise.all(
    Object.entries(benches).map(async ([name, load]) => {
      const { does, options } = await load();
      const defaults = Object.entries(options).map(([option, value]) => `--${option} ${value}`);
      return `  ${name.padEnd(10)} ${does}${defaults.length > 0 ? `\n${" ".repeat(13)}${defaults.join(" ")}` : ""}`;
    }),
  );
  return `npm run bench -- <name> [options]

${lines.join("\n")}

  --data-dir DIR  keep the database there and reuse it (default: a temporary one, removed afterwards)
  --json          the last line is one JSON object with the figures
  --page          writes the bench's section of docs/benchmarks.md (of scale: docs/scale.md)

  BENCH_POSTGRES=DIR in the environment: the programs of another Postgres 18 than npm's, which is built for size
`;
}

async function run(
  name: string,
  { options: defaults, bench, page, pageFile = benchmarksPage }: BenchModule,
): Promise<void> {
  const { values } = parseArgs({
    allowPositionals: true,
    options: {
      ...Object.fromEntries(Object.keys(defaults).map((option) => [option, { type: "string" } as const])),
      ...common,
    },
  });
  const { json, page: writes, help: __, ...given } = values;
  const say = (line: string) => (json ? process.stderr : process.stdout).write(`${line}\n`);
  const texts = Object.entries(given).filter(
    (option): option is [string, string] => typeof option[1] === "string",
  );
  const figures = await bench({ ...defaults, ...Object.fromEntries(texts) }, say);
  if (writes) {
    if (page === undefined) throw new Error(`${name} has no section on a page.`);
    const asked = texts
      .filter(([option]) => option !== "data-dir")
      .map(([option, value]) => ` --${option} ${value}`);
    const programs = process.env["BENCH_POSTGRES"];
    const on = programs === undefined || figures["server"] === undefined ? "" : `BENCH_POSTGRES=${programs} `;
    const command = `${on}npm run bench -- ${name}${asked.join("")}`;
    await writeSection({ file: pageFile, name }, { command, server: figures["server"] }, await page(figures));
  }
  if (json) process.stdout.write(`${JSON.stringify({ bench: name, ...figures })}\n`);
}

const { positionals, values } = parseArgs({ allowPositionals: true, strict: false, options: common });
const [name = ""] = positionals;
const load = benches[name];
if (values.help === true || load === undefined) {
  process.stderr.write(await help());
  process.exitCode = values.help === true ? 0 : 2;
} else {
  await run(name, await load());
}
