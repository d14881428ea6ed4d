import { registerHooks } from "node:module";

const own = new URL("./noop-handlers.ts", import.meta.url).href;

/**
 * In a deployment an app's handlers replace `#handlers` when its functions are bundled; here this
 * hook does when they are loaded.
 */
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "#handlers" ? { url: own, shortCircuit: true } : next(specifier, context),
});
