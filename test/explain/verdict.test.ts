import { describe, expect, test } from "vitest";
import { explained } from "../../lib/explain/explain.ts";
import type { Facts, VersionFact } from "../../lib/explain/verdict.ts";
import type { JobRead } from "../../lib/job/read-job.ts";
import { resolveCadence } from "../../lib/schedule/resolve-spec.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { at, hour, minute, second } from "../support/instants.ts";

const created = at(0).getTime();
const occurrence = at("10:10:00");

const noRules = { dates: [], weekly: [] };

function version(parts: Partial<VersionFact> = {}, asked: object = {}): VersionFact {
  const body = parseScheduleBody({ when: "*/5 * * * *", target: { queue: "demo" }, ...asked });
  const calendar = body.calendar === null ? null : { id: 1, versionId: 1, rules: noRules };
  const cadence = resolveCadence("k", body, at(0), calendar);
  return {
    version: 1,
    change: "created",
    at: created,
    by: "ann",
    held: false,
    heldUntil: null,
    detail: null,
    body,
    cadence,
    unread: null,
    ...parts,
  };
}

function job(parts: Partial<JobRead> = {}): JobRead {
  const due = parts.occurrence ?? occurrence;
  return {
    id: "7",
    kind: "cadence",
    n: 0,
    key: "k",
    scheduleId: "7",
    version: 1,
    group: null,
    occurrence: due,
    dueAt: due,
    state: "waiting",
    reason: null,
    attempt: 0,
    cancelling: false,
    waitsFor: null,
    readyAt: due,
    startedAt: null,
    finishedAt: null,
    latenessMs: null,
    durationMs: null,
    checks: 0,
    errorGroup: null,
    recheckOf: null,
    error: null,
    ...parts,
  };
}

function succeeded(started: Date, parts: Partial<JobRead> = {}): JobRead {
  return job({
    state: "succeeded",
    attempt: 1,
    readyAt: null,
    startedAt: started,
    finishedAt: started,
    ...parts,
  });
}

function facts(parts: Partial<Facts> = {}): Facts {
  return {
    key: "k",
    at: occurrence.getTime(),
    now: at(hour).getTime(),
    createdAt: created,
    versions: [version()],
    job: null,
    beside: [],
    travel: null,
    chain: [],
    requests: { cancelled: null, retried: null },
    passed: null,
    passedBefore: null,
    owedBefore: null,
    fullLine: null,
    versionsFault: null,
    aside: [],
    holds: [],
    outages: [],
    heldSince: null,
    heldUntil: null,
    plannedUpTo: at(hour + 3 * minute).getTime(),
    keptFrom: 0,
    limit: null,
    pulse: null,
    around: [],
    ...parts,
  };
}

const tell = (parts: Partial<Facts>) => explained(facts(parts));

describe("an occurrence that ran", () => {
  test.each([
    ["on time", 0, undefined],
    ["on time within a second", 1_000, undefined],
    ["late beyond it", 1_001, { byMs: 1_001, because: "unrecorded" }],
  ])("A run that started %s says so", (_, lateMs, late) => {
    const told = tell({ job: succeeded(new Date(occurrence.getTime() + lateMs)) });
    expect(told.outcome).toBe("ran");
    expect(told.late).toEqual(late);
    expect(told.sentence).toMatch(late === undefined ? /^Ran, on time: / : /^Ran, 1 second late, because /);
  });

  test("A run that was late for no recorded reason says that", () => {
    expect(tell({ job: succeeded(at("10:30:00")) })).toMatchObject({
      late: { byMs: 20 * minute, because: "unrecorded" },
      sentence: expect.stringContaining("(the ledger does not record which)"),
    });
  });

  test("A late run that could not have been planned late was late because of its worker", () => {
    const skipping = version({}, { catchUp: { policy: "skip" } });
    expect(tell({ versions: [skipping], job: succeeded(at("10:30:00")) })).toMatchObject({
      late: { byMs: 20 * minute, because: "worker" },
    });
  });

  test("A run that a hold delayed after its due time names the hold", () => {
    const paused = version({
      version: 2,
      change: "paused",
      at: occurrence.getTime() + second,
      held: true,
      detail: { owner: "bob", reason: "quiet", until: null },
    });
    const resumed = version({ version: 3, change: "resumed", at: at("10:30:00").getTime(), by: "bob" });
    expect(tell({ versions: [version(), paused, resumed], job: succeeded(at("10:30:00")) })).toMatchObject({
      late: { because: "hold" },
      heldBy: [{ owner: "bob", reason: "quiet" }],
      sentence: expect.stringContaining('it was held by bob ("quiet") until 2026-03-02T10:30:00Z'),
    });
  });
});

describe("an occurrence whose job waits", () => {
  test.each<[string, Partial<Facts>, string, string]>([
    [
      "at the pace of the backlog",
      { travel: { inLane: false, atTarget: null, startsAt: null, owed: true, offers: 0, queue: "fast" } },
      "backlog",
      "has left the backlog",
    ],
    [
      "for its turn at a target",
      {
        travel: {
          inLane: false,
          atTarget: "handler/a",
          startsAt: null,
          owed: false,
          offers: 0,
          queue: "fast",
        },
      },
      "target",
      "waits for its turn at handler/a, whose limits or share of the workers are used up.",
    ],
    [
      "for a place of its team at a target",
      {
        travel: {
          inLane: false,
          atTarget: "handler/a",
          teamFull: 4,
          startsAt: null,
          owed: false,
          offers: 0,
          queue: "fast",
        },
      },
      "target",
      "waits for its turn at handler/a, where its team has as many jobs under way as one team may (4).",
    ],
    [
      "for its time at a target's rate",
      {
        travel: {
          inLane: false,
          atTarget: "queue/a",
          startsAt: at("11:00:30"),
          owed: false,
          offers: 0,
          queue: "fast",
        },
      },
      "target",
      "used up, and starts at 2026-03-02T11:00:30Z.",
    ],
    [
      "until it is ready",
      { travel: { inLane: false, atTarget: null, startsAt: null, owed: false, offers: 0, queue: "fast" } },
      "ready",
      "waits and starts at",
    ],
  ])("A job waits %s", (_, parts, reason, words) => {
    expect(tell({ job: job({ readyAt: at("11:00:30") }), ...parts })).toMatchObject({
      outcome: "waiting",
      reason,
      sentence: expect.stringContaining(words),
    });
  });

  test("A job that waits for unknown earlier runs says so", () => {
    const travel = {
      inLane: true,
      atTarget: null,
      startsAt: null,
      owed: false,
      offers: 0,
      queue: "fast" as const,
    };
    expect(tell({ job: job({ readyAt: null }), travel })).toMatchObject({
      reason: "lane",
      sentence: expect.stringContaining("for earlier runs to end"),
    });
  });

  test("A job that waits for a retry under a hold names the hold", () => {
    expect(
      tell({
        job: job({ state: "retrying", attempt: 1, error: "no luck", readyAt: null }),
        heldSince: at("10:20:00").getTime(),
        holds: [
          {
            ...{ scope: "group", name: "g", owner: "bob", reason: null, since: at("10:20:00"), until: null },
            ...{ reach: "", team: "" },
          },
        ],
      }),
    ).toMatchObject({
      outcome: "retrying",
      heldBy: [{ owner: "bob", group: "g" }],
      sentence: expect.stringContaining("it waits, held by bob on the group g"),
    });
  });
});

describe("an occurrence that was cancelled", () => {
  test("A job cancelled by a delete names the caller that deleted", () => {
    const deleted = version({ version: 2, change: "deleted", at: at("10:20:00").getTime(), by: "bob" });
    const cancelled = job({
      state: "cancelled",
      reason: "deleted",
      finishedAt: at("10:20:00"),
      readyAt: null,
    });
    expect(tell({ versions: [version(), deleted], job: cancelled })).toMatchObject({
      outcome: "cancelled",
      reason: "deleted",
      sentence: expect.stringContaining("deleted at 2026-03-02T10:20:00Z by token `bob`"),
    });
  });

  test("A job cancelled otherwise says when", () => {
    const cancelled = job({ state: "cancelled", finishedAt: at("10:20:00"), readyAt: null });
    expect(tell({ job: cancelled })).toMatchObject({
      outcome: "cancelled",
      sentence: "Was cancelled at 2026-03-02T10:20:00Z.",
    });
  });
});

describe("an occurrence that was passed over", () => {
  const range = { from: at("10:05:00"), to: at("10:40:00"), count: 8, more: false, notedAt: at("10:50:00") };

  test.each([
    ["deleted", "the schedule was deleted before it left the backlog"],
    ["retention", "it was older than the retention of jobs"],
    ["something else", "it was passed over (something else)"],
  ])("An occurrence passed over for the reason %s says so", (reason, words) => {
    expect(tell({ passed: { ...range, reason } })).toMatchObject({
      outcome: "skipped",
      reason,
      sentence: expect.stringContaining(words),
    });
  });

  test("An occurrence is collapsed only into a run that was due when it was passed over", () => {
    const passed = { ...range, reason: "missed" };
    const later = succeeded(at("10:55:00"), { occurrence: at("10:55:00"), dueAt: at("10:55:00") });
    const caught = succeeded(at("10:50:00"), { occurrence: at("10:45:00"), dueAt: at("10:45:00") });
    expect(tell({ passed, around: [later] }).collapsedInto).toBeUndefined();
    expect(tell({ passed, around: [caught, later] }).collapsedInto).toEqual(at("10:45:00"));
    expect(tell({ passed: { ...passed, more: true }, around: [caught] }).sentence).toContain(
      "one of at least 8",
    );
  });

  test("A passed-over occurrence is explained by the policy that was current when it was passed over", () => {
    const skipping = version(
      { version: 2, change: "patched", at: at("10:42:00").getTime() },
      { catchUp: { policy: "skip" } },
    );
    expect(
      tell({ passed: { ...range, reason: "missed" }, versions: [version(), skipping] }).sentence,
    ).toContain("missed runs are not made up (`catchUp`: skip)");
    const young = version({}, { catchUp: { policy: "latest", within: "5m" } });
    expect(tell({ passed: { ...range, reason: "missed" }, versions: [young] }).sentence).toContain(
      "no older than 5m",
    );
  });

  test("An instant inside a range of passed-over occurrences is not one of them if it is no occurrence", () => {
    const passed = { ...range, reason: "missed" };
    expect(tell({ at: at("10:12:00").getTime(), passed })).toMatchObject({ outcome: "not-an-occurrence" });
  });
});

describe("an occurrence without a record", () => {
  test("An occurrence without a record is `unrecorded`", () => {
    expect(tell({})).toMatchObject({ outcome: "unrecorded", occurrence: true, dueAt: occurrence });
  });

  test("An occurrence may be the next in the backlog", () => {
    expect(tell({ owedBefore: 0 })).toMatchObject({
      outcome: "backlog",
      sentence: expect.stringContaining("it is the next of its schedule"),
    });
  });

  test("An occurrence may wait in the backlog because its target has used up its share", () => {
    const fullLine = { target: "handler/slow", hasTeam: false, underWay: 60_000 };
    expect(tell({ owedBefore: 0, fullLine })).toMatchObject({
      outcome: "backlog",
      reason: "target",
      sentence: expect.stringContaining("60000 jobs for handler/slow are not done"),
    });
    const together = { target: null, hasTeam: false, underWay: 60_000 };
    expect(tell({ owedBefore: 0, fullLine: together }).sentence).toContain(
      "for queues and buses without a limit",
    );
    const ofTeam = { ...fullLine, hasTeam: true };
    expect(tell({ owedBefore: 0, fullLine: ofTeam }).sentence).toContain(
      "Its team has used up its share of the backlog: 60000 jobs of it for handler/slow are not done",
    );
    expect(tell({ owedBefore: 0, fullLine, heldSince: created }).sentence).not.toContain("share");
  });

  test("An occurrence may be beyond the limit before the ticks reach it", () => {
    const limited = version({}, { maxFires: 9 });
    const limit = {
      maxFires: 9,
      fires: 7,
      left: 2,
      countFrom: created,
      isUsedUp: false,
      isBeforeHold: false,
    };
    const parts = { versions: [limited], now: created, plannedUpTo: created + 3 * minute, limit };
    expect(tell({ ...parts, at: at("10:10:00").getTime() })).toMatchObject({ outcome: "planned" });
    expect(tell({ ...parts, at: at("10:15:00").getTime() })).toMatchObject({
      outcome: "after-end",
      sentence: expect.stringContaining("will have used up its `maxFires` of 9"),
    });
  });
});

test("A deadline that a hold made impossible names the hold", () => {
  const paused = version({ version: 2, change: "paused", at: at("10:05:00").getTime(), held: true });
  const resumed = version(
    { version: 3, change: "resumed", at: at("10:30:00").getTime() },
    { deadline: "5m" },
  );
  const late = job({
    state: "skipped",
    reason: "late",
    version: 3,
    finishedAt: at("10:30:00"),
    readyAt: null,
  });
  expect(tell({ versions: [version(), paused, resumed], job: late })).toMatchObject({
    outcome: "skipped",
    reason: "late",
    late: { byMs: 20 * minute, because: "hold" },
    sentence:
      "Did not run: it could only have started 20 minutes after it was due, because it was held by ann until 2026-03-02T10:30:00Z, later than its deadline of 5m allows.",
  });
});

test("An edit that restarts the timing of an interval says so", () => {
  const first = version({}, { when: "every 10m" });
  const anew = version(
    { version: 2, change: "restored", at: at("10:03:00").getTime(), by: "bob" },
    { when: "every 10m" },
  );
  const cadence = resolveCadence("k", anew.body, at("10:03:00"), null);
  const told = tell({ versions: [first, { ...anew, cadence }] });
  expect(told).toMatchObject({
    outcome: "withdrawn",
    edit: { version: 2, by: "bob" },
    sentence: expect.stringContaining(
      "restored by token `bob` (version 2) at 2026-03-02T10:03:00Z, before it was due, which restarted its timing (`every 10m` in UTC)",
    ),
  });
});

test.each<[string, Partial<VersionFact>, object]>([
  ["which changed `calendar`", { change: "patched" }, {}],
  [
    "because its calendar or zone had changed",
    { change: "replanned" },
    { calendar: { name: "c", on: "next" } },
  ],
])("A run that a calendar had moved is withdrawn by an edit that %s", (words, parts, asked) => {
  const onSundays = { when: "10 10 * * 0" };
  const next = version({ version: 2, at: at("10:03:00").getTime(), ...parts }, { ...onSundays, ...asked });
  const cadence = resolveCadence("k", version({}, onSundays).body, at(0), null);
  const moved = version(
    {
      cadence: {
        kind: "calendared",
        of: cadence,
        timezone: "UTC",
        on: "next",
        rules: { dates: [], weekly: ["sun"] },
      },
    },
    { ...onSundays, calendar: { name: "c", on: "next" } },
  );
  expect(tell({ versions: [moved] })).toMatchObject({ occurrence: true });
  expect(tell({ versions: [moved, { ...next, cadence }] })).toMatchObject({
    outcome: "withdrawn",
    edit: { version: 2 },
    sentence: expect.stringContaining(words),
  });
});

test("A very long error is cut to its beginning", () => {
  const told = tell({ job: succeeded(occurrence, { state: "dead", attempt: 1, error: "x".repeat(5_000) }) });
  expect(told.sentence.length).toBeLessThan(600);
  expect(told).toMatchObject({ outcome: "dead" });
});

describe("a schedule that is set aside", () => {
  const entry = (consumer: string) => ({
    consumer,
    reason: "TypeError: x is not a function",
    firstAt: at("10:09:00"),
    tries: 2,
    nextAt: at(hour + 2 * minute),
  });
  const why =
    "The schedule has been set aside since 2026-03-02T10:09:00Z, because `plan` failed on it 2 times (TypeError: x is not a function): the next retry is at 2026-03-02T11:02:00Z.";

  test("If the tick could not plan a schedule and set it aside, a due occurrence says that it has no job, and why", () => {
    expect(tell({ aside: [entry("plan")] })).toMatchObject({
      outcome: "set-aside",
      setAside: [entry("plan")],
      sentence: `Was due at 2026-03-02T10:10:00Z and has no job yet. ${why}`,
    });
  });

  test("An instant outside the cadence has the state and the reason of each of its jobs", () => {
    const fired = { kind: "manual", occurrence: at("10:11:00") } as const;
    const beside = [
      job({ ...fired, state: "dead", reason: "attempts", error: "no route" }),
      job({ ...fired, n: 1, state: "running" }),
    ];
    expect(tell({ at: at("10:11:00").getTime(), beside })).toMatchObject({
      outcome: "fired",
      sentence:
        'Is no occurrence: at 2026-03-02T10:11:00Z a manual job was made outside the cadence; it is dead (attempts) after "no route". Another manual job is running.',
    });
    const readyAt = at("10:12:00");
    const retrying = job({ ...fired, state: "retrying", error: "no route", readyAt });
    expect(tell({ at: at("10:11:00").getTime(), beside: [retrying] }).sentence).toContain(
      'it is retrying after "no route", and starts again at 2026-03-02T10:12:00Z.',
    );
  });

  test("An instant that is no occurrence names the quarantine first", () => {
    const off = { at: at("10:11:00").getTime(), aside: [entry("plan")] };
    expect(tell(off)).toMatchObject({
      outcome: "not-an-occurrence",
      setAside: [entry("plan")],
      sentence: `${why} The instant is not an occurrence of \`*/5 * * * *\` in UTC (version 1); the nearest are 2026-03-02T10:10:00Z before it and 2026-03-02T10:15:00Z after it.`,
    });
    const manual = job({ kind: "manual", occurrence: at("10:11:00"), state: "succeeded" });
    expect(tell({ ...off, beside: [manual] }).sentence).toBe(
      `${why} The instant is no occurrence: at 2026-03-02T10:11:00Z a manual job was made outside the cadence; it has succeeded.`,
    );
    const later = version({}, { startsAt: at("10:30:00").toISOString() });
    expect(tell({ aside: [entry("plan")], versions: [later] }).sentence).toBe(
      `${why} The instant is no occurrence: the schedule starts at 2026-03-02T10:30:00Z (\`startsAt\`).`,
    );
  });

  test("If another part of Carillon set the schedule aside, the outcome of the occurrence comes first", () => {
    const told = tell({ aside: [entry("ended"), entry("follower")] });
    expect(told).toMatchObject({ outcome: "unrecorded", setAside: [entry("ended"), entry("follower")] });
    expect(told.sentence).toMatch(
      /recorded about it\. The schedule .*`ended` failed .* The schedule .*`follower` failed/,
    );
  });

  test("A coming occurrence names the quarantine", () => {
    const told = tell({ now: at(0).getTime(), plannedUpTo: at(minute).getTime(), aside: [entry("plan")] });
    expect(told).toMatchObject({ outcome: "planned", setAside: [entry("plan")] });
    expect(told.sentence.endsWith(` ${why}`)).toBe(true);
  });

  test("A job that has ended does not name the quarantine", () => {
    const told = tell({ job: succeeded(occurrence), aside: [entry("plan")] });
    expect(told.sentence).not.toContain("set aside");
    expect(told).not.toHaveProperty("setAside");
  });
});
