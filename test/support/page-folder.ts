import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    pageFolder: string;
  }
}

/** A folder of the run, into which the first test that needs the page builds it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(path.join(tmpdir(), "carillon-page-"));
  project.provide("pageFolder", folder);
  return () => rm(folder, { recursive: true, force: true });
}
