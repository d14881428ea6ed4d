import { registerHooks } from "node:module";

const own = new URL("./noop-handlers.ts", import.meta.url).href;

/** An app's handlers stand in for `#handlers` when its functions are bundled; here they do when the functions are loaded. */
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "#handlers" ? { url: own, shortCircuit: true } : next(specifier, context),
});
