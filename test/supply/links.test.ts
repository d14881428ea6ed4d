import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { runNode } from "../support/run-node.ts";
import { copyPostgres } from "./clone-copy.ts";

/** To root every folder is open, so the process becomes another user. */
const notRoot =
  "if (process.getuid() === 0) { process.setgroups([]); process.setgid(65534); process.setuid(65534); }";

// As after an install by root, when another user starts the stack.
test("Postgres runs from a copy of its package where the user may not make the package's links", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-links-"));
  const [copies, installed] = [path.join(folder, "copies"), path.join(folder, "package")];
  const withLinks = path.join(installed, "native", "lib");
  try {
    chmodSync(folder, 0o755);
    mkdirSync(copies);
    chmodSync(copies, 0o777);
    copyPostgres(installed);
    chmodSync(withLinks, 0o555);
    const found = await runNode(
      `import { installedBinaries } from "./lib/tools/local/postgres/binaries.ts";
      ${notRoot}
      console.log(installedBinaries(${JSON.stringify(installed)}, undefined).postgres);`,
      { TMPDIR: copies },
    );
    expect(path.relative(copies, found)).toMatch(/^carillon-postgres-[^/]+\/native\/bin\/postgres$/);
  } finally {
    chmodSync(withLinks, 0o755);
    rmSync(folder, { recursive: true, force: true });
  }
});
