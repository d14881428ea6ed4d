import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

const packageJson = z.object({ name: z.string(), version: z.string(), license: z.string() });

/** In CycloneDX's form: every package that something of is in the functions' bundles, told by the files that esbuild read. */
export function billOfMaterials(root: string, files: Iterable<string>): string {
  const folders = new Set([...files].flatMap((file) => packageFolder(file) ?? []));
  const packages = [...folders].map((folder) => {
    const text = readFileSync(path.join(root, folder, "package.json"), "utf8");
    return packageJson.parse(JSON.parse(text));
  });
  const components = packages.map(({ name, version, license }) => {
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    return { type: "library", "bom-ref": purl, name, version, purl, licenses: [{ expression: license }] };
  });
  components.sort((one, other) => (one.purl < other.purl ? -1 : 1));
  return `${JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", version: 1, components }, null, 2)}\n`;
}

/** `node_modules/@scope/name` of a file in it, the innermost where one package brings its own of another. */
function packageFolder(file: string): string | undefined {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
}
