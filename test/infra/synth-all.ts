import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { z } from "zod";
import { variants } from "./variants.ts";

const root = path.join(import.meta.dirname, "..", "..");
const template = z.object({ Resources: z.record(z.string(), z.unknown()) });

/** Runs without network access: in a network namespace of its own, where Linux allows it. */
const alone = ["unshare", "--map-root-user", "--net", "--"];
const shutIn = spawnSync("unshare", ["--map-root-user", "--net", "--", "true"]).status === 0;

/**
 * Runs without an account: no credentials, no region, no profile, and a proxy address without a
 * listener.
 */
const environment = {
  PATH: process.env["PATH"] ?? "",
  HOME: mkdtempSync(path.join(tmpdir(), "carillon-home-")),
  AWS_EC2_METADATA_DISABLED: "true",
  HTTPS_PROXY: "http://127.0.0.1:9",
  HTTP_PROXY: "http://127.0.0.1:9",
};

/**
 * `npm run synth:all`: runs `npx cdk synth` for each set of settings, with the real CLI and its
 * bundles, and prints a line for each; arguments select some of them. Fails when one fails or
 * prints a warning.
 */
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in variants));
if (unknown.length > 0) {
  const known = Object.keys(variants).join(", ");
  process.stderr.write(`There is no ${unknown.join(", ")}; the sets of settings are ${known}.\n`);
  process.exitCode = 2;
} else {
  process.stdout.write(`${shutIn ? "Without a network" : "Without a proxy that answers"}:\n`);
  const faulty = (asked.length > 0 ? asked : Object.keys(variants)).filter((name) => !synth(name));
  if (faulty.length > 0) process.exitCode = 1;
}
rmSync(environment.HOME, { recursive: true, force: true });

/**
 * Whether the synthesis succeeded without a warning; with --strict the CLI treats a warning as an
 * error.
 */
function synth(name: string): boolean {
  const out = mkdtempSync(path.join(tmpdir(), "carillon-synth-"));
  const began = performance.now();
  try {
    const context = Object.entries(variants[name] ?? {}).flatMap(([setting, value]) => [
      "--context",
      `carillon:${setting}=${Array.isArray(value) ? value.join(",") : value}`,
    ]);
    const cdk = [process.execPath, path.join(root, "node_modules", "aws-cdk", "bin", "cdk")];
    const [program = "", ...args] = [...(shutIn ? alone : []), ...cdk, "synth", "--quiet", "--strict"];
    const { status, stdout, stderr } = spawnSync(program, [...args, "--output", out, ...context], {
      cwd: root,
      env: environment,
      encoding: "utf8",
    });
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    const well = status === 0;
    process.stdout.write(
      `${well ? "ok    " : "FAULTY"} ${seconds.padStart(5)} s  ${resources(out)}  ${name}\n`,
    );
    if (!well) process.stdout.write(`${stdout}${stderr}\n`);
    return well;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

function resources(out: string): string {
  try {
    const made = template.parse(JSON.parse(readFileSync(path.join(out, "Carillon.template.json"), "utf8")));
    return `${Object.keys(made.Resources).length} resources`.padStart(13);
  } catch {
    return "no template".padStart(13);
  }
}
