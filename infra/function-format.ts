/** Bundled as a module, a dependency that still calls `require` for a part of Node finds none; this gives it one. */
export const requireForModules =
  "import{createRequire}from'node:module';const require=createRequire(import.meta.url);";
