import { execFileSync } from "node:child_process";
import path from "node:path";
import { packages } from "./package-list.ts";
import { root } from "./repository.ts";

// `npm run pack:all`: makes the tarballs of the built packages.

const folder = path.join(root, "dist", "packages");
for (const { name } of packages) {
  const args = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
  const tarball = execFileSync("npm", args, { cwd: path.join(folder, name), encoding: "utf8" });
  process.stdout.write(`${path.join("dist", "packages", tarball.trim())}\n`);
}
