import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";

const root = path.join(import.meta.dirname, "..", "..");
const modules = path.join(root, "node_modules");

const packageJson = z.object({
  devDependencies: z.record(z.string(), z.string()),
  optionalDependencies: z.record(z.string(), z.string()),
});

interface Manifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/**
 * A manifest by which npm takes every third-party package from the folders of this repository: those
 * that the app depends on, and by overrides those that its packages depend on.
 */
export function withLinkedModules<App extends Manifest>(manifest: App): App & { overrides: object } {
  const { devDependencies, optionalDependencies } = packageJson.parse(
    JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")),
  );
  const here = new Set([...Object.keys(devDependencies), ...Object.keys(optionalDependencies)]);
  const { dependencies = {}, devDependencies: forTests = {} } = manifest;
  const linked = (given: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(given).map(([name, range]) => [name, here.has(name) ? placeOf(name) : range]),
    );
  // npm refuses an override of a package that the app itself depends on.
  const others = [...here].filter((name) => !(name in dependencies || name in forTests));
  return {
    ...manifest,
    dependencies: linked(dependencies),
    devDependencies: linked(forTests),
    overrides: Object.fromEntries(others.map((name) => [name, placeOf(name)])),
  };
}

const placeOf = (name: string) => `file:${path.join(modules, name)}`;

/** The environment of npm with nothing of the user's own, and no server that answers. */
export function withoutNetwork(home: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    HOME: home,
    HTTPS_PROXY: "http://127.0.0.1:9",
    npm_config_offline: "true",
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_cache: path.join(home, "cache"),
    // Those of the linked folders would run in this repository.
    npm_config_ignore_scripts: "true",
  };
}
