import { existsSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import path from "node:path";
import { inject } from "vitest";
import { runNode } from "../support/run-node.ts";
import { until } from "../support/until.ts";

/**
 * The folder of the built page. The first caller of the run builds it, and callers in other
 * processes wait for it.
 */
export async function builtPage(): Promise<string> {
  const folder = inject("pageFolder");
  const ready = path.join(folder, "ready");
  const isFirst = await mkdir(path.join(folder, "building")).then(
    () => true,
    () => false,
  );
  if (!isFirst) await until("the page is built", async () => existsSync(ready));
  else {
    const dist = path.join(folder, "dist");
    // In a process of its own: the environment of tests would give React's code for developers.
    await runNode(
      `import { buildPage } from "./infra/tools/package/build-page.ts";
      await buildPage(process.cwd(), ${JSON.stringify(dist)});`,
      {},
    );
    await rename(dist, ready);
  }
  return path.join(ready, "page");
}
