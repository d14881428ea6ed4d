import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { type Beside, beside } from "./beside.ts";
import { type Agent, type OwnAgents, ownAgents } from "./own-agent.ts";

export interface WritingAgent {
  agents: OwnAgents;
  agent: Agent;
  person: Beside;
}

/** The schedule `a`, which is there before each test. */
export const hourly = { when: "every 1h", target: { queue: "demo" }, group: "g", tags: ["t"] };

/** A session with `--write` for the tests of a file. The keys a, b and new are gone after each test. */
export function withWritingAgent(given: (opened: WritingAgent) => void): void {
  let opened: WritingAgent;
  beforeAll(async () => {
    const agents = await ownAgents();
    opened = { agents, agent: await agents.agent({ args: ["--write"] }), person: beside(agents.cli) };
    given(opened);
  });
  afterAll(() => opened.agents.stop());
  beforeEach(async () => {
    await opened.person.send("PUT", "/v1/schedules/a", { ...hourly, payload: { n: 1 } });
  });
  afterEach(async () => {
    opened.agent.passTime(0);
    for (const key of ["a", "b", "new"]) await opened.person.send("DELETE", `/v1/schedules/${key}`);
  });
}
