import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test, vi } from "vitest";

/** Ends at SIGTERM, and leaves its function behind. Its health names the port at which the function listens. */
const emulator = `#!${process.execPath}
const { spawn } = require("node:child_process");
const code = "const s = require('net').createServer().listen(0, '127.0.0.1', () => console.log(s.address().port))";
const worker = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "ignore"] });
worker.stdout.once("data", (port) =>
  require("node:http")
    .createServer((_, response) => response.end(String(port)))
    .listen(Number(process.env.GATEWAY_PORT), "127.0.0.1"),
);
`;

test("a stopped emulator leaves no function of its own running", async ({ onTestFinished }) => {
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-emulator-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const program = path.join(folder, "ministack");
  writeFileSync(program, emulator);
  chmodSync(program, 0o755);
  vi.stubEnv("CARILLON_EMULATOR", program);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { startEmulator } = await import("./emulator-process.ts");

  const running = await startEmulator();
  const port = await (await fetch(`${running?.url}/_ministack/health`)).text();
  const toFunction = connect(Number(port), "127.0.0.1");
  await once(toFunction, "connect");
  const ended = once(toFunction, "close");
  toFunction.on("error", () => {});
  await running?.stop();
  await ended;
  expect(toFunction.destroyed).toBe(true);
});
