import { playDeaths } from "./deaths.ts";
import { workerScenarios } from "./scenarios.ts";

playDeaths(workerScenarios);
