import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { localConnectionsMax } from "../../lib/local/local-functions.ts";

test("the README tells how many connections a given database must have for the local stack", async () => {
  const readme = await readFile(path.join(import.meta.dirname, "..", "..", "README.md"), "utf8");
  expect(readme).toContain(`of which it may take ${localConnectionsMax} connections`);
});
