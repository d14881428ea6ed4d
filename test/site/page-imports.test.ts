import path from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";

const root = path.join(import.meta.dirname, "..", "..");

test("The page's function contains no package, no code of the database and none of the API but the reading of its event", async () => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ["functions/page.ts"],
    bundle: true,
    platform: "node",
    format: "esm",
    metafile: true,
    write: false,
  });
  const files = Object.keys(metafile.inputs);
  expect(files).toContain("lib/site/serve-page.ts");
  const wanted =
    /^(functions\/page|lib\/site\/[\w-]+|lib\/(config|log)\/[\w-]+|lib\/api\/request\/incoming)\.ts$/;
  expect(files.filter((file) => !wanted.test(file))).toEqual([]);
});
