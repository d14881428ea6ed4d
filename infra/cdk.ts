/** The exports of `carillon-cdk`, after the check of the version of Node. */
import "../lib/config/node-version.ts";

export { Carillon, type CarillonProps } from "./carillon.ts";
export type { Handlers } from "./functions/handlers.ts";
export type { CarillonParts, CarillonResources } from "./parts.ts";
export { Schedule } from "./schedule/schedule.ts";
export type { ScheduleHome, ScheduleProps } from "./schedule/schedule-props.ts";
export type { GivenSettings } from "./settings/given.ts";
export { Watch, type WatchProps } from "./watch/watch.ts";
