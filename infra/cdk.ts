/** The exports of `carillon/cdk`. */
export { Carillon, type CarillonParts, type CarillonProps } from "./carillon.ts";
export type { Handlers } from "./functions/handlers.ts";
export { Watch, type WatchProps } from "./watch/watch.ts";
