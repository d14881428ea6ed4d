import path from "node:path";

/**
 * In a bundle that is a module, a dependency's call of `require` for a module of Node fails; this
 * defines `require`.
 */
export const requireForModules =
  "import{createRequire}from'node:module';const require=createRequire(import.meta.url);";

/** Modules that are replaced in the bundle, by the name that a dependency imports. */
export function bundledInstead(root: string): Readonly<Record<string, string>> {
  return {
    // The SDK's other ways to get credentials, with clients of their own and all of `node:http`,
    // are a fifth of a function's import time.
    "@aws-sdk/credential-provider-node": path.join(root, "lib", "config", "credentials-of-role.ts"),
  };
}
