import { refusedScenario } from "./aside-scenarios.ts";
import { type PairScenario, playPairs } from "./pairs.ts";
import { tickScenarios, workerScenarios } from "./scenarios.ts";
import type { Scenario } from "./steps.ts";

const pairsOf = (
  kind: PairScenario["kind"],
  { oneOf, oneOfAll = 1 }: { oneOf: number; oneOfAll?: number },
  scenarios: readonly Scenario[],
) => scenarios.map((scenario): PairScenario => ({ ...scenario, kind, oneOf, oneOfAll }));

const [makesJobs, , sweepsUp] = tickScenarios;
const [takesSome, inLanes] = workerScenarios;
const defined = (scenarios: readonly (Scenario | undefined)[]) =>
  scenarios.filter((each) => each !== undefined);

playPairs([
  ...pairsOf("tick", { oneOf: 150 }, defined([makesJobs, sweepsUp])),
  ...pairsOf("tick", { oneOf: 600, oneOfAll: 10 }, [refusedScenario]),
  ...pairsOf("worker", { oneOf: 30 }, defined([takesSome, inLanes])),
]);
