import path from "node:path";

/** Bundled as a module, a dependency that still calls `require` for a part of Node finds none; this gives it one. */
export const requireForModules =
  "import{createRequire}from'node:module';const require=createRequire(import.meta.url);";

/** By the module that a dependency asks for, what is bundled in its place. */
export function bundledInstead(root: string): Readonly<Record<string, string>> {
  return {
    // Its other ways to credentials, with clients of their own and all of `node:http`, are a fifth of what importing a function costs.
    "@aws-sdk/credential-provider-node": path.join(root, "lib", "config", "credentials-of-role.ts"),
  };
}
