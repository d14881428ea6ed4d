import { describe, expect, test } from "vitest";
import { endOfNode } from "../../support/run-node.ts";

/** A process with a watch of small limits, and a handler with this code. */
const watched = (code: string, before = "") => `
  ${before}
  const folder = "./lib/tools/local/handlers";
  const { RunningHandlers } = await import(folder + "/running-handlers.ts");
  const { tellExit } = await import(folder + "/tell-exit.ts");
  const { watchBlocked } = await import(folder + "/watch-blocked.ts");
  const running = new RunningHandlers();
  const unwatch = watchBlocked(running, { saysAfterMs: 300, endsAfterMs: 900 });
  const stopTelling = tellExit(running);
  const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  const [report] = running.counted([{ name: "report", run: async () => { ${code} } }]);
  const run = () => report.run([{ key: "nightly" }, { key: "weekly" }], {});`;

describe("the process of the local stack", { timeout: 120_000 }, () => {
  test("A process that a handler blocks says which handlers run, and then ends by force", async () => {
    const { err, end } = await endOfNode(`${watched("for (;;);")} await run();`, {});
    const [first, second] = err.trim().split("\n");
    expect(first).toMatch(
      /^The process has been blocked for 0\.3 s while report \(jobs of nightly, weekly\) ran: nothing else runs meanwhile, .*kill -9 \d+ /,
    );
    expect(second).toMatch(
      /^The process has been blocked for 0\.9 s while report .* ran: the process ends\./,
    );
    expect(end).toBe("SIGKILL");
  });

  test("A process that is blocked while no handler runs, or while a debugger may be attached, continues", async () => {
    const idle = `${watched("")} await run(); block(2_000); process.exit(7);`;
    expect(await endOfNode(idle, {})).toMatchObject({ err: "", end: 7 });
    const debug = 'const { open } = await import("node:inspector"); open(0, "127.0.0.1");';
    const debugged = `${watched("await new Promise((turn) => setTimeout(turn, 200)); block(2_000);", debug)}
      await run();
      process.exit(7);`;
    const { err, end } = await endOfNode(debugged, {});
    expect(err).not.toContain("blocked");
    expect(end).toBe(7);
  });

  test("A process that a handler exits names the handler, its job and the code", async () => {
    expect(await endOfNode(`${watched("process.exit(3);")} await run();`, {})).toMatchObject({
      err: "The process ends with code 3 while report (jobs of nightly, weekly) ran: a handler must not call process.exit.\n",
      end: 3,
    });
  });

  test("A process that ends after its stop, or while no handler runs, says nothing of handlers", async () => {
    const stopped = `${watched("await new Promise(() => {});")} void run(); stopTelling(); unwatch(); process.exit(4);`;
    expect(await endOfNode(stopped, {})).toMatchObject({ err: "", end: 4 });
    expect(await endOfNode(`${watched("")} await run(); process.exit(5);`, {})).toMatchObject({
      err: "",
      end: 5,
    });
  });
});
