import { type Attack, type Ground, ownPrefix } from "../attack.ts";
import { inParallel } from "../caller.ts";
import { deleteOwn } from "../delete-own.ts";

const batchSize = 1_000;
const quotaStatus = 422;
/** By default long enough for a tick that has to plan them. */
const timesSeconds = 7;

interface BatchAnswer {
  results: { status: number; error?: { type: string; detail: string } }[];
}

/** Schedules that run each second, until all are stored or a quota refuses them. */
async function eachSecond({ caller, answers, tokens }: Ground, schedules: number): Promise<void> {
  await inParallel(Math.ceil(schedules / batchSize), 2, async (batch) => {
    const size = Math.min(batchSize, schedules - batch * batchSize);
    const operations = Array.from({ length: size }, (_, index) => ({
      put: {
        key: `${ownPrefix}bomb-${batch}-${index}`,
        when: "every 1s",
        target: { handler: "greet" },
      },
    }));
    const answer = (await caller.json("POST", "/v1/schedules:batch", {
      token: tokens.write,
      body: { operations },
    })) as BatchAnswer | undefined;
    const refused = answer?.results.find(({ status }) => status >= 400 && status !== quotaStatus);
    if (refused !== undefined)
      answers.fault(`a schedule of a batch was answered ${refused.status}: ${refused.error?.detail}`);
  });
}

/** Expressions whose next occurrence takes a long search, or does not exist. */
const searches = [
  "0 0 29 2 1&",
  "0 0 29 2 1",
  "59 59 23 29 2 1&",
  "0 0 L 2 1&",
  "0 0 29 2 5#5&",
  "*/59 */23 29 2 *",
];

const zones = ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Antarctica/Troll"];

/** Schedules that are cheap to send and costly to plan. */
async function costly({ caller, tokens }: Ground, count: number): Promise<void> {
  const token = tokens.owner;
  const name = `${ownPrefix}never`;
  // The only day of the expressions: no run is left.
  const weekly = ["mon"];
  await caller.json("PUT", `/v1/calendars/${name}`, { token, body: { weekly } });
  await inParallel(count, 8, async (index) => {
    const when = searches[index % searches.length];
    const timezone = zones[index % zones.length];
    const path = `/v1/schedules/${ownPrefix}costly-${index}`;
    const body = { when, timezone, target: { handler: "greet" } };
    await caller.json("PUT", path, {
      token: tokens.write,
      body: index % 3 === 0 ? body : { ...body, calendar: { name, on: index % 3 === 1 ? "skip" : "next" } },
    });
    await caller.json("GET", `${path}/next?n=1000&from=2190-01-01T00:00:00Z`, { token: tokens.write });
    await caller.json("POST", "/v1/preview", {
      token: tokens.write,
      body: { when: searches, timezone, n: 1_000 },
    });
    await caller.json("GET", `${path}/explain?at=2199-12-31T23:59:59Z`, { token: tokens.write });
  });
  await caller.json("GET", "/v1/forecast?minutes=1440&by=key", {
    token: tokens.read,
  });
}

async function manyVersions({ caller, tokens }: Ground, count: number): Promise<void> {
  const path = `/v1/schedules/${ownPrefix}versions`;
  await inParallel(count, 4, (index) =>
    caller.json("PUT", path, {
      token: tokens.write,
      body: { when: "every 1s", target: { handler: "greet" }, description: `version ${index}` },
    }),
  );
  await caller.json("GET", `${path}/versions?limit=100`, { token: tokens.write });
}

export const scheduleBombs: Attack = {
  name: "schedules",
  does: "stores schedules that run each second, a thousand versions of one, searches that take long, and calendars that exclude every day",
  holds: "they are accepted and ticks are on time, or a quota refuses them with 422",
  async run(ground, { seconds, schedules }) {
    const { clock } = ground;
    const startedAt = clock.now().getTime();
    await costly(ground, Math.min(200, schedules));
    await manyVersions(ground, Math.min(1_000, schedules));
    // Last, since they use up the quota of the others.
    await eachSecond(ground, schedules);
    const left = startedAt + timesSeconds * seconds * 1_000 - clock.now().getTime();
    await clock.sleep(Math.max(0, left));
    await deleteOwn(ground);
    await ground.caller.json("DELETE", `/v1/calendars/${ownPrefix}never`, { token: ground.tokens.owner });
  },
};
