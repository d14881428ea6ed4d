import { refusedScenario } from "./aside-scenarios.ts";
import { type PairScenario, playPairs } from "./pairs.ts";
import { tickScenarios, workerScenarios } from "./scenarios.ts";
import type { Scenario } from "./steps.ts";

const pairsOf = (kind: PairScenario["kind"], oneOf: number, scenarios: readonly Scenario[]) =>
  scenarios.map((scenario): PairScenario => ({ ...scenario, kind, oneOf }));

const [makesJobs, , sweepsUp] = tickScenarios;
const [takesSome, inLanes] = workerScenarios;
const defined = (scenarios: readonly (Scenario | undefined)[]) =>
  scenarios.filter((each) => each !== undefined);

playPairs([
  ...pairsOf("tick", 150, defined([makesJobs, sweepsUp])),
  ...pairsOf("tick", 600, [refusedScenario]),
  ...pairsOf("worker", 30, defined([takesSome, inLanes])),
]);
