import { playDeaths } from "./deaths.ts";
import { editScenarios } from "./scenarios.ts";

playDeaths(editScenarios);
