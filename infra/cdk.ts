/** The exports of `carillon/cdk`. */
export { Carillon, type CarillonParts, type CarillonProps } from "./carillon.ts";
export { Watch, type WatchProps } from "./watch/watch.ts";
