import type { Mutant } from "../mutant.ts";
import { unusedTargets } from "./unused-targets.ts";

const archive = "lib/archive/archived-day.ts";

const daysTest = "test/retention/days.test.ts";
const cadencesTest = "test/retention/cadences.test.ts";
const purgeTest = "test/retention/purge.test.ts";
const overTest = "test/retention/over.test.ts";
const archiveTest = "test/archive/archive.test.ts";
const takenOverTest = "test/archive/taken-over.test.ts";

/**
 * Days, schedules and the audit are deleted in time and not before, and a day only when the archive
 * has it. `rows/ingest.ts` has older rows.
 */
export const retentionRows: readonly Mutant[] = [
  {
    name: "past_days: a day with a waiting parcel is kept",
    file: "lib/retention/sql/past_days.sql",
    text: "    if v_parcel is null then\n",
    replacement: "    if true then\n",
    tests: [daysTest],
  },
  {
    name: "past_days: a day counts from when it was last written to",
    file: "lib/retention/sql/past_days.sql",
    text: "    continue when exists (select from carillon.stirred_days s where s.day = v_day and s.on_day > v_last);\n",
    replacement: "",
    tests: [archiveTest],
  },
  {
    name: "past_days: a day that a shard has not passed is kept",
    file: "lib/retention/sql/past_days.sql",
    text: " or v_day >= v_planned;",
    replacement: ";",
    tests: [daysTest],
  },
  {
    name: "past_days: a day with a waiting job is kept",
    file: "lib/retention/sql/past_days.sql",
    text: "l.day = v_day and l.occurrence is null",
    replacement: "l.day = v_day",
    tests: [daysTest, "test/poison/days.test.ts"],
  },
  {
    name: "past_days: a check is void when the day has been written to since",
    file: "lib/retention/sql/past_days.sql",
    text: "s.day = v_day and s.on_day >= l.looked_on",
    replacement: "false",
    tests: [daysTest],
  },
  {
    name: "day_waits: a check is void when the day has been written to since",
    file: "lib/retention/sql/day_waits.sql",
    text: "s.day = p_day and s.on_day >= v_found.looked_on",
    replacement: "false",
    tests: [daysTest],
  },
  {
    name: "reclaim_cadences: a cadence that an edit has found is skipped",
    file: "lib/schedule/sql/reclaim_cadences.sql",
    text: "order by c.id for update skip locked);",
    replacement: "order by c.id);",
    tests: [cadencesTest],
  },
  {
    name: "reclaim_cadences: versions committed before the lock are seen",
    file: "lib/schedule/sql/reclaim_cadences.sql",
    text: "where c.id = any(v_unused) and not exists (select from carillon.schedule_versions v where v.cadence_id = c.id offset 0);",
    replacement: "where c.id = any(v_unused);",
    tests: [cadencesTest],
    equivalent: "The foreign key refuses the same, and fails the step with it.",
  },
  {
    name: "keep_cadence: a cadence is locked while a version begins to name it",
    file: "lib/schedule/sql/keep_cadence.sql",
    text: "where c.id = p_id for key share $$;",
    replacement: "where c.id = p_id $$;",
    tests: [cadencesTest],
  },
  ...unusedTargets,
  {
    name: "a page of the archive is limited in bytes",
    file: "lib/archive/read-day.ts",
    text: "    where j.bytes_before < ${bounds.bytes}\n",
    replacement: "",
    tests: ["test/archive/large-jobs.test.ts"],
  },
  {
    name: "is_archived: a day that was written to since does not count as archived",
    file: "lib/retention/sql/is_archived.sql",
    text: "\n      and not exists (select from carillon.stirred_days s where s.day = p_day and s.on_day >= (a.begun_at at time zone 'UTC')::date))",
    replacement: ")",
    tests: [archiveTest],
  },
  {
    name: "a day is dropped only when the archive has it",
    file: "lib/retention/drop-days.ts",
    text: "* interval '1 day', ${archived})",
    replacement: "* interval '1 day', false)",
    tests: [archiveTest],
    equivalent: "The list of days to drop excludes it too.",
  },
  {
    name: "a day is listed to be dropped only when the archive has it",
    file: "lib/retention/drop-days.ts",
    text: "where p.to_look or not ${archived} or carillon.is_archived(p.day)`",
    replacement: "`",
    tests: ["test/poison/days.test.ts", archiveTest],
    equivalent: "The drop itself checks this too.",
  },
  {
    name: "drop_day_of_jobs: a day that the archive does not have is kept",
    file: "lib/retention/sql/drop_day_of_jobs.sql",
    text: "not p.to_look) or (p_archived and not carillon.is_archived(p_day)) then",
    replacement: "not p.to_look) then",
    tests: [archiveTest],
    equivalent: "The list of days to drop excludes it, and the check under the lock finds it.",
  },
  {
    name: "locked days are dropped last",
    file: "lib/retention/drop-days.ts",
    text: "where l.granted and l.relation is not null",
    replacement: "where not l.granted and l.relation is not null",
    tests: ["test/poison/days.test.ts"],
  },
  {
    name: "days that have failed are archived last",
    file: archive,
    text: "order by aside, p.day limit",
    replacement: "order by p.day limit",
    tests: ["test/poison/days.test.ts"],
  },
  {
    name: "a day that another archive has keeps its entry",
    file: "lib/archive/archive-days.ts",
    text: "if (whole === null) return notDone;",
    replacement: "if (whole === null) return null;",
    tests: ["test/poison/days.test.ts"],
  },
  {
    name: "past_plan_days: a day of the plan that a shard has not finished is kept",
    file: "lib/retention/sql/past_plan_days.sql",
    text: "min(least(s.watermark_at, s.near_until))",
    replacement: "min(carillon.clock())",
    tests: ["test/tick/days.test.ts", daysTest],
  },
  {
    name: "purge_schedules: nothing is purged while the ticks lag behind",
    file: "lib/retention/sql/purge_schedules.sql",
    text: "from carillon.shards h) < v_now - interval '1 hour' then",
    replacement: "from carillon.shards h) < v_now - interval '100 years' then",
    tests: [purgeTest],
  },
  {
    name: "purge_schedules: a schedule stays while a day is kept on which it may have a job",
    file: "lib/retention/sql/purge_schedules.sql",
    text: "      and not exists (select from unnest(v_old) d where d && tstzrange(s.created_at, o.over_at, '[]'))\n",
    replacement: "",
    tests: [purgeTest],
  },
  {
    name: "purge_schedules: a held schedule is kept",
    file: "lib/retention/sql/purge_schedules.sql",
    text: "(s.held_since is null and w.ended_at is not null\n",
    replacement: "(w.ended_at is not null\n",
    tests: [purgeTest],
  },
  {
    name: "purge_schedules: a schedule is not over by an older version",
    file: "lib/retention/sql/purge_schedules.sql",
    text: "e.schedule_id = s.id and e.version = s.version and coalesce(s.fires",
    replacement: "e.schedule_id = s.id and coalesce(s.fires",
    tests: [overTest],
  },
  {
    name: "purge_schedules: a schedule whose last run is in quarantine is kept",
    file: "lib/retention/sql/purge_schedules.sql",
    text: "\n        and not exists (select from carillon.quarantine q where q.consumer = 'plan' and q.item = s.id::text)",
    replacement: "",
    tests: ["test/poison/purge.test.ts"],
  },
  {
    name: "purge: a schedule is over only when its cadence has no next time",
    file: "lib/retention/purge.ts",
    text: "nextRunAfter(timetableOf(schedule).cadence, now.getTime()) === null",
    replacement: "nextRunAfter(timetableOf(schedule).cadence, now.getTime()) !== undefined",
    tests: [overTest],
  },
  {
    name: "purge_listed: the tags of the schedule that has the key now stay",
    file: "lib/retention/sql/purge_listed.sql",
    text: "where s.id = any(p_ids) and coalesce(s.deleted_at, 'infinity') = 'infinity' and t.key = s.key",
    replacement: "where s.id = any(p_ids) and t.key = s.key",
    tests: [overTest],
  },
  {
    name: "purge_schedules: a range of passed-over occurrences is kept from its recording on",
    file: "lib/retention/sql/purge_schedules.sql",
    text: "and o.to_at < v_before and o.noted_at < v_before;",
    replacement: "and o.to_at < v_before;",
    tests: [overTest],
  },
  {
    name: "purge_schedules: rows deleted by age are not subtracted from counts",
    file: "lib/stats/sql/tally_unpassed.sql",
    text: "  if current_setting('carillon.purging', true) = 'on' then\n",
    replacement: "  if false then\n",
    tests: [purgeTest],
  },
  {
    name: "archive: a day that was written to since is archived again",
    file: archive,
    text: "a.begun_at is null or s.stirred as anew",
    replacement: "a.begun_at is null as anew",
    tests: [archiveTest],
  },
  {
    name: "archive: a day under a lease is skipped",
    file: archive,
    text: "(a.lease_until is null or a.lease_until <= carillon.clock())",
    replacement: "true",
    tests: [archiveTest],
  },
  {
    name: "archive: parts of an earlier archive are emptied",
    file: "lib/archive/archive-days.ts",
    text: "  await emptyOthers(store, progress);\n",
    replacement: "",
    tests: [archiveTest],
  },
  {
    name: "archive: an archivist that was replaced writes no progress",
    file: archive,
    text: "interval '1 minute'\n    where day = ${day}::text::date and fence = ${fence}`;",
    replacement: "interval '1 minute'\n    where day = ${day}::text::date and ${fence}::int > 0`;",
    tests: [takenOverTest],
  },
  {
    name: "archive: an archivist that was replaced finishes no day",
    file: archive,
    text: "set archived_at = carillon.clock(), lease_until = null\n    where day = ${day}::text::date and fence = ${fence}`;",
    replacement:
      "set archived_at = carillon.clock(), lease_until = null\n    where day = ${day}::text::date and ${fence}::int > 0`;",
    tests: [takenOverTest],
  },
  {
    name: "archive: an archived day has no lag",
    file: "lib/retention/archive-lag.ts",
    text: " and not carillon.is_archived(p.day)`",
    replacement: "`",
    tests: [takenOverTest],
  },
];
