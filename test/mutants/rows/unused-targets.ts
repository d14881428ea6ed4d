import type { Mutant } from "../mutant.ts";

const targetsTest = "test/retention/targets.test.ts";
const pulseTargetsTest = "test/pulse/unused-targets.test.ts";

/** A target's row is deleted when nothing names it, and never while a schedule or a pulse names it. */
export const unusedTargets: readonly Mutant[] = [
  {
    name: "target_named: a marked target counts as used from now on",
    file: "lib/target/sql/target_named.sql",
    text: "elsif v_unused_at is not null then",
    replacement: "elsif false then",
    tests: [targetsTest],
  },
  {
    name: "is_long_unused: a mark counts after a day",
    file: "lib/target/sql/is_long_unused.sql",
    text: "coalesce(p_target.unused_at < p_now - interval '1 day', false)",
    replacement: "coalesce(p_target.unused_at <= p_now, false)",
    tests: [targetsTest],
  },
  {
    name: "is_unused: a target with limits that a caller set is used",
    file: "lib/target/sql/is_unused.sql",
    text: " and p_target.set_at is null\n",
    replacement: "\n",
    tests: [targetsTest],
    equivalent: "A target whose limits were set once has a revision above 1.",
  },
  {
    name: "is_unused: a target whose revision a caller may have read is used",
    file: "lib/target/sql/is_unused.sql",
    text: "      and p_target.revision = 1\n",
    replacement: "",
    tests: [targetsTest],
  },
  {
    name: "is_unused: the target of a handler is used",
    file: "lib/target/sql/is_unused.sql",
    text: "      and not starts_with(p_target.name, 'handler/')\n",
    replacement: "",
    tests: [targetsTest],
  },
  {
    name: "is_unused: a target that only deleted schedules name is unused",
    file: "lib/target/sql/is_unused.sql",
    text: "s.target_id is not null and s.deleted_at is not null offset 0",
    replacement: "false offset 0",
    tests: [targetsTest],
  },
  {
    name: "is_unused: a target with parcels that are not ready yet is used",
    file: "lib/target/sql/is_unused.sql",
    text: "p.queue = 'slow' and p.lease_until is null and p.turn is null offset 0",
    replacement: "false offset 0",
    tests: [targetsTest],
  },
  {
    name: "is_unused: a target with parcels that wait for their turn is used",
    file: "lib/target/sql/is_unused.sql",
    text: "p.turn = 'waits' offset 0",
    replacement: "false offset 0",
    tests: [targetsTest],
  },
  {
    name: "is_unused: a target with parcels that have a place is used",
    file: "lib/target/sql/is_unused.sql",
    text: "p.slots is not null offset 0",
    replacement: "false offset 0",
    tests: [targetsTest],
  },
  {
    name: "reclaim_targets: a row locked by an edit is skipped",
    file: "lib/target/sql/reclaim_targets.sql",
    text: "where t.id = any(p_ids) order by t.id for update skip locked);",
    replacement: "where t.id = any(p_ids) order by t.id);",
    tests: [targetsTest],
  },
  {
    name: "reclaim_targets: used targets lose their mark",
    file: "lib/target/sql/reclaim_targets.sql",
    text: "where t.id = any(v_locked) and (t.unused_at is null)",
    replacement: "where t.id = any(v_unused) and (t.unused_at is null)",
    tests: [targetsTest],
  },
  {
    name: "follow_pulses: a marked target counts as used from now on, and one that is being deleted is made again",
    file: "lib/pulse/sql/follow_pulses.sql",
    text: "on conflict (md5(target::text)) do update set unused_at = null where k.unused_at is not null;",
    replacement: "on conflict do nothing;",
    tests: [pulseTargetsTest],
  },
  {
    name: "follow_pulses: the row of a marked target is locked",
    file: "lib/pulse/sql/follow_pulses.sql",
    text: " and u.unused_at is null)",
    replacement: ")",
    tests: [pulseTargetsTest],
  },
  {
    name: "reclaim_pulse_targets: a target is deleted a day after its mark",
    file: "lib/pulse/sql/reclaim_pulse_targets.sql",
    text: "t.id = any(v_unused) and t.unused_at < v_now - interval '1 day';",
    replacement: "t.id = any(v_unused);",
    tests: [pulseTargetsTest],
  },
  {
    name: "reclaim_pulse_targets: a row locked by an edit is skipped",
    file: "lib/pulse/sql/reclaim_pulse_targets.sql",
    text: "order by t.id for update skip locked);",
    replacement: "order by t.id);",
    tests: [pulseTargetsTest],
  },
  {
    name: "reclaim_pulse_targets: pulses committed before the lock are seen",
    file: "lib/pulse/sql/reclaim_pulse_targets.sql",
    text: "where not exists (select from carillon.pulses p where p.target_id = u.id offset 0));",
    replacement: ");",
    tests: [pulseTargetsTest],
  },
  {
    name: "reclaim_pulse_targets: used targets lose their mark",
    file: "lib/pulse/sql/reclaim_pulse_targets.sql",
    text: "where t.id = any(v_locked) and (t.unused_at is null)",
    replacement: "where t.id = any(v_unused) and (t.unused_at is null)",
    tests: [pulseTargetsTest],
  },
];
