import { playDeaths } from "./deaths.ts";
import { tickScenarios } from "./scenarios.ts";

playDeaths(tickScenarios);
