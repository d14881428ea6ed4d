import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { localConnectionsMax } from "../../lib/tools/local/local-functions.ts";

test("docs/local.md has the number of connections that a database given to the local stack must allow", async () => {
  const page = await readFile(path.join(import.meta.dirname, "..", "..", "docs", "local.md"), "utf8");
  expect(page).toContain(`of which it may take ${localConnectionsMax} connections`);
});
