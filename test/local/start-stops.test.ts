import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { wording } from "../../lib/log/wording.ts";
import { until } from "../support/until.ts";
import { endOf } from "./local-stack.ts";
import { eachItsOwnStack, timeAfterTick } from "./stack-reads.ts";

// A start takes seconds, and many times as long on a busy machine.
describe("npm start", { timeout: 120_000 }, () => {
  const own = eachItsOwnStack();

  test.each(["SIGTERM", "SIGINT"] as const)(
    "the stack stops in order on %s, and leaves no Postgres running",
    async (signal) => {
      const stack = await own.start();
      await timeAfterTick(stack);
      const exited = once(stack.child, "close");
      expect(await stack.end(signal)).toEqual({ code: 0, signal: null });
      await exited;
      // The stack kills the parts that have not stopped within five seconds, logs it, and exits
      // with 1.
      expect(stack.printed()).toContain(wording["local.stopping"]);
      expect(stack.printed()).not.toContain(wording["local.stop-cut"]);
      expect(() => statSync(path.join(own.dataDir, "postgres", "cluster", "postmaster.pid"))).toThrow(
        /ENOENT/,
      );
    },
  );

  test("npm start stops in order when the reader of its output is gone, as in `npm start | head`", async () => {
    const stack = await own.start();
    stack.child.stdout?.destroy();
    stack.child.stderr?.destroy();
    const exited = once(stack.child, "exit");
    const job = { target: { handler: "greet" }, payload: { name: "Ada" } };
    // The stack may have written a line, and stop already: then it does not answer.
    await stack.request("POST", "/v1/jobs", job).catch(() => undefined);
    expect(await exited).toEqual([0, null]);
    expect(() => statSync(path.join(own.dataDir, "postgres", "cluster", "postmaster.pid"))).toThrow(/ENOENT/);
  });

  test("npm start exits with 1 and reports it when its Postgres is killed", async () => {
    const stack = await own.start();
    const [pid] = readFileSync(path.join(own.dataDir, "postgres", "cluster", "postmaster.pid"), "utf8").split(
      "\n",
    );
    process.kill(Number(pid), "SIGKILL");
    expect(await endOf(stack.child)).toEqual({ code: 1, signal: null });
    expect(stack.printed()).toContain("Postgres ended unexpectedly");
  });

  test("npm start generates a token once, keeps it in a file that only its owner can read, and shows it in the link to the page only", async () => {
    let stack = await own.start({ CARILLON_TOKEN: "" });
    const file = path.join(own.dataDir, "token");
    expect(stack.printed()).toContain(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const token = readFileSync(file, "utf8").trim();
    const link = `The page: ${stack.urls.api}/#token=${token}`;
    await until("the link is printed", async () => stack.printed().split("\n").includes(link));
    expect(stack.logged()).not.toContain(token);
    await stack.end("SIGTERM");
    stack = await own.start({ CARILLON_TOKEN: "" });
    expect(readFileSync(file, "utf8").trim()).toBe(token);
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${stack.urls.api}/v1/schedules`, { headers })).status).toBe(200);
  });
});
