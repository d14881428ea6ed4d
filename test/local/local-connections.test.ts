import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { localConnectionsMax } from "../../lib/tools/local/local-functions.ts";

test("the page of the local stack has the number of connections that a given database must allow", async () => {
  const page = await readFile(path.join(import.meta.dirname, "..", "..", "docs", "local.md"), "utf8");
  expect(page).toContain(`of which it may take ${localConnectionsMax} connections`);
});
