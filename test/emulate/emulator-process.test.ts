import { spawnSync } from "node:child_process";
import path from "node:path";
import { expect, test } from "vitest";

test.each(["run.ts", "first-deployment-drill.ts", "restore-drill.ts"])(
  "%s ends with one sentence where the emulator is not installed",
  (script) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(import.meta.dirname, script)], {
      encoding: "utf8",
      env: { ...process.env, CARILLON_EMULATOR: "/nowhere/ministack" },
    });
    expect([status, stderr]).toEqual([1, ""]);
    expect(stdout).toMatch(
      /ministack is not installed\. docs\/localstack\.md#another-emulator-without-docker says .*\n$/,
    );
    expect(stdout.trim().split("\n")).toHaveLength(1);
  },
);
