import { asideScenarios } from "./aside-scenarios.ts";
import { playDeaths } from "./deaths.ts";

playDeaths(asideScenarios);
