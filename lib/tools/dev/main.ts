#!/usr/bin/env node
import "../../config/node-version.ts";

// The program of the package `carillon-dev`. It is loaded only by a Node that can run it.
const [word, ...rest] = process.argv.slice(2);
if (word === "checks") {
  const { printChecks } = await import("./checks/print-checks.ts");
  process.exit(await printChecks(rest));
}
const { dev } = await import("./dev.ts");
process.exit(await dev(process.argv.slice(2)));
