import { playDeaths } from "./deaths.ts";
import { houseScenarios } from "./house-scenarios.ts";

playDeaths(houseScenarios);
