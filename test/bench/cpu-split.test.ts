import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { runNode } from "../support/run-node.ts";
import { cpuLine, cpuSplit, parseStat } from "./cpu-split.ts";

const busy = "const end = process.cpuUsage().user + 200_000; while (process.cpuUsage().user < end);";
const stat = (name: string) => `4711 (${name}) S 4242 1 1 0 -1 0 10 20 30 40 7 5 2 1 20 0 1 0 100 0 0`;

test("a process's time includes that of its children that have ended", () => {
  expect(parseStat(stat("postgres"))).toEqual({ parent: 4242, ms: 150 });
});

test("a program name with blanks and brackets does not shift the fields", () => {
  expect(parseStat(stat("a) S 1 (b"))).toEqual(parseStat(stat("postgres")));
});

test.runIf(process.platform === "linux")("a child's time is counted, even after it has ended", () => {
  const noPostgres = 2 ** 30;
  const split = cpuSplit(noPostgres);
  expect(spawnSync(process.execPath, ["-e", busy]).status).toBe(0);
  const shares = split.end();
  expect(shares?.nodeMs).toBeGreaterThanOrEqual(180);
  expect(shares?.postgresMs).toBe(0);
});

test.runIf(process.platform === "linux")(
  "Postgres's time is not part of this process's, although it started Postgres",
  async () => {
    // In a process of its own: this one may have work and children of other tests.
    const shares = JSON.parse(
      await runNode(
        `
        import { spawn } from "node:child_process";
        import { once } from "node:events";
        import { cpuSplit } from "./test/bench/cpu-split.ts";
        const postgres = spawn(process.execPath, ["-e", ${JSON.stringify(`${busy} console.log(1); process.stdin.resume();`)}]);
        const split = cpuSplit(postgres.pid);
        await once(postgres.stdout, "data");
        console.log(JSON.stringify(split.end()));
        postgres.kill();`,
        {},
      ),
    );
    expect(shares.postgresMs).toBeGreaterThanOrEqual(180);
    expect(shares.nodeMs).toBeLessThan(shares.postgresMs);
  },
);

test("the shares are parts of the time of both sides", () => {
  expect(cpuLine({ nodeMs: 400, postgresMs: 1_200, wallMs: 1_000 })).toBe(
    "CPU: Postgres 75 %, Node 25 %, 1.60 cores busy",
  );
  expect(cpuLine(null)).toBe("CPU: not reported on this machine");
});
