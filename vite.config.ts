import path from "node:path";
import { defineConfig } from "vite";

/** The page. Its links are relative, so that it works below any path. */
export default defineConfig({
  root: path.join(import.meta.dirname, "lib", "page"),
  base: "./",
  build: {
    target: "es2023",
    // Inlined files would need a wider Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // React's packages mark their modules for servers; here everything runs in the browser.
    rolldownOptions: { checks: { moduleLevelDirective: false } },
  },
});
