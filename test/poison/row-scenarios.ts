import { holdScenarios } from "./scenarios-holds.ts";
import { parcelScenarios } from "./scenarios-parcels.ts";
import { planScenarios } from "./scenarios-plan.ts";

export const scenarios = { ...planScenarios, ...holdScenarios, ...parcelScenarios };

export type ScenarioName = keyof typeof scenarios;
