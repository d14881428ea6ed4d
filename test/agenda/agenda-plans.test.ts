import { expect, test } from "vitest";
import { readAgenda } from "../../lib/agenda/agenda.ts";
import { countAgenda } from "../../lib/agenda/counts.ts";
import { readLastRuns } from "../../lib/agenda/last-runs.ts";
import type { AgendaOutcome } from "../../lib/agenda/outcomes.ts";
import { emptyIn } from "../../lib/agenda/spanning.ts";
import { readStrip } from "../../lib/agenda/strip.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { describePlans } from "../support/describe-plans.ts";
import { at, day, hour, minute } from "../support/instants.ts";
import { type Touched, touched } from "../support/touched.ts";
import { agendaPages } from "./pages.ts";

const schedules = 60_000;
const large =
  /^(jobs|jobs_beside|plan|attempts)_\d+$|^(schedules|schedule_versions|schedule_tags|passed_over|plan_far|audit|backlog)$/;

describePlans("with 60,000 schedules of every kind", fill, (filled) => {
  function expectProbesOnly({ scanned, index }: Touched, most: number): void {
    expect(Object.entries(scanned).filter(([table, read]) => large.test(table) && read > 500)).toEqual([]);
    expect(Object.entries(index).filter(([name, read]) => read > most && !name.startsWith("shards"))).toEqual(
      [],
    );
  }

  const window = (from: number, length: number) => ({
    from: at(from).getTime(),
    to: at(from + length).getTime(),
  });
  const page = (from: number, length: number, filter: object, outcome?: AgendaOutcome) => () =>
    readAgenda(filled.sql, { window: window(from, length), filter, outcome, limit: 50 });

  test.each([
    ["of a coming hour", page(day, hour, {})],
    ["of a coming hour under a prefix", page(day, hour, { prefix: "k1" })],
    ["of a coming minute of a group", page(day, minute, { group: "g3" })],
    ["of a coming minute of a tag", page(day, minute, { tag: "all" })],
    ["of a coming minute of a target", page(day, minute, { target: "queue/demo" })],
    ["of a month", page(day, 31 * day, {})],
    ["around now", page(-minute, 2 * minute, {})],
    ["of a past hour", page(-hour, hour, {})],
    ["of a past hour of a group", page(-hour, hour, { group: "g3" })],
    ["of a coming month of an interval", page(day, 31 * day, { rule: -hour })],
    ["of a coming month of schedules that run once", page(day, 31 * day, { rule: 0 })],
    ["of a past hour of an interval", page(-hour, hour, { rule: -hour })],
    ["of a coming hour of an interval in a group", page(day, hour, { rule: -hour, group: "g3" })],
    ["of the planned runs of a month", page(day, 31 * day, {}, "planned")],
    ["of the skipped runs of the last days", page(-2 * day, 3 * day, {}, "skipped")],
    ["of the runs of a past hour", page(-hour, hour, {}, "ran")],
    ["of the dead runs of a past hour, of which there are none", page(-hour, hour, {}, "dead")],
    ["of the dead runs of a group in a past hour", page(-hour, hour, { group: "g3" }, "dead")],
  ])("A page of an agenda %s reads a bounded number of rows, by index", async (_name, read) => {
    // The occurrences of a group take up to 10,000 reads, and the list of its members stops at 5,001.
    expectProbesOnly(await touched(filled.sql, read), 16_000);
  });

  test.each([
    ["a coming month", page(day, 31 * day, {}, "held")],
    ["a coming month of a large group", page(day, 31 * day, { group: "g3" }, "held")],
    ["a past month of a large group", page(-31 * day, 31 * day, { group: "g3" }, "held")],
  ])(
    "A page of the held runs of %s, of which there are none, reads a bounded number of rows",
    async (_name, read) => {
      // Other schedules that are late by a spread fill the slices, of which each is read up to a limit.
      expectProbesOnly(await touched(filled.sql, read), 80_000);
    },
  );

  test("A page under a prefix of the agenda's index reads little more than the page", async () => {
    const of = await touched(filled.sql, page(day, minute, { prefix: "k5" }));
    expect(of.index["schedules_agenda"] ?? 0).toBeLessThan(2_500);
  });

  test("The agenda and the counts of one cadence read the entries of this cadence alone", async () => {
    const [{ rule } = { rule: 0 }] = await filled.sql<{ rule: number }[]>`
      select rule::int from carillon.schedules where rule > 0 order by rule limit 1`;
    const length = 2 * day;
    const list = await touched(filled.sql, page(day, length, { rule }));
    const count = await touched(filled.sql, () => countAgenda(filled.sql, window(day, length), { rule }));
    for (const of of [list, count]) expectProbesOnly(of, 250);
  });

  test("The jobs of a few schedules among many are found without looking up the schedules of the others", async () => {
    const filter = { prefix: "k100" };
    const [from, to] = [at(-hour), at(-hour + minute)];
    const rows = await agendaPages(filled.sql, filter, [from, to], 7);
    const ids = Array.from({ length: schedules }, (_, n) => n + 1).filter(
      (id) => id % 4 === 1 && `k${id}`.startsWith(filter.prefix),
    );
    const listed = rows.filter(({ job }) => job !== null).map(({ key }) => key);
    expect(listed.toSorted()).toEqual(ids.map((id) => `k${id}`).toSorted());
    const of = await touched(filled.sql, page(-hour, minute, filter));
    // 15,000 jobs of one instant: once for the end of the part, and once for the part.
    expectProbesOnly(of, 32_000);
    // The ranges look up 10,000 schedules. With the jobs, there would be 20,000.
    expect(of.index["schedules_pkey"] ?? 0).toBeLessThan(12_000);
  });

  test("Occurrences are counted by the index alone, up to a bound for each cadence", async () => {
    const of = await touched(filled.sql, () => countAgenda(filled.sql, window(day, hour), {}));
    expectProbesOnly(of, 62_000);
  });

  test("Whether ranges have an occurrence in a window is looked up by the version of each range", async () => {
    const { from, to } = window(-30 * hour, hour);
    const ranges = Array.from({ length: 2_000 }, (_, n) => {
      return { id: String(3 * (n + 1)), from: new Date(from - day), to: new Date(to + day) };
    });
    const of = await touched(filled.sql, async () => {
      expect((await emptyIn(filled.sql, ranges, { from, to })).size).toBeGreaterThan(1_500);
    });
    expectProbesOnly(of, 8_500);
  });

  test("A strip and the last runs of many schedules are read by probes", async () => {
    const strip = () => readStrip(filled.sql, { key: "k100", window: window(-day, 2 * day), limit: 100 });
    expectProbesOnly(await touched(filled.sql, strip), 3_000);
    const keys = Array.from({ length: 100 }, (_, n) => `k${n + 1_000}`);
    expectProbesOnly(await touched(filled.sql, () => readLastRuns(filled.sql, { keys, most: 20 })), 5_000);
  });
});

/** A third each of crons, intervals and single instants; jobs of the last days; passed-over ranges. */
async function fill(sql: Sql): Promise<void> {
  const start = at(0);
  await sql`
    insert into carillon.cadences (expression, timezone)
    select (n % 60) || ' ' || (n / 60) || ' * * *', 'UTC' from generate_series(0, 1439) n`;
  await sql`insert into carillon.targets (name) values ('queue/demo')`;
  await sql`
    insert into carillon.schedules (id, shard, queue, key, group_key, tags, target_kind, target_id, rule, phase, lagged, created_at, created_by, updated_at, updated_by)
    select n, n % 16, 'fast', 'k' || n, 'g' || n % 6, array['all'], 'queue', (select id from carillon.targets),
      case n % 3 when 0 then c.first + n % 1440 when 1 then -3600000 else 0 end,
      case n % 3 when 0 then 0 when 1 then n::bigint * 59 % 3600000 else (extract(epoch from ${start}::timestamptz) * 1000)::bigint + n::bigint * 60000 end,
      case when n % 10 = 0 then true end, ${start}, 't', ${start}, 't'
    from generate_series(1, ${schedules}) n cross join (select min(id) as first from carillon.cadences) c`;
  await sql`
    insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, cadence_id, first_at, every_ms, once_at, body, target, payload)
    select id, 1, 'created', ${start}::timestamptz - interval '4 days', 't', 1, false, case when rule > 0 then rule end,
      case when rule < 0 then to_timestamp(phase / 1000.0) end, case when rule < 0 then -rule end, case when rule = 0 then to_timestamp(phase / 1000.0) end,
      '{"when": "every 1d"}', '{"queue": "demo"}', 'null' from carillon.schedules`;
  await sql`
    insert into carillon.passed_over (schedule_id, from_at, to_at, count, reason, noted_at)
    select n, ${start}::timestamptz - interval '2 days', ${start}::timestamptz - interval '1 day' + n * interval '1 s', 2, 'missed', ${start} from generate_series(1, ${schedules}) n`;
  await sql`
    insert into carillon.backlog (schedule_id, shard, version, occurrences, dues, turn_at, noted_at)
    select n, n % 16, 1, d.some, d.some, ${start}, ${start} from generate_series(1, ${schedules / 3}) n
    cross join lateral (
      select array[${start}::timestamptz - interval '2 hours', ${start}::timestamptz - n * interval '1 ms'] as some) d`;
  await sql`select carillon.attach_days('2026-02-27', '2026-02-28')`;
  await sql`
    insert into carillon.jobs (occurrence, schedule_id, due_at, version, state, attempt, started_at, finished_at)
    select d, n, d, 1, 'succeeded', 1, d, d from generate_series(1, ${schedules}) n,
      lateral (select ${start}::timestamptz - (n % 4) * interval '1 hour' as d) l`;
}
