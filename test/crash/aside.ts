import type { Sql } from "../../lib/db/connect.ts";

interface Broken {
  rule: string;
  name: string;
}

const namesOf = (broken: readonly Broken[]) => broken.map(({ rule, name }) => `${rule}: ${name}`);

/**
 * Rules of rows in quarantine. They hold at each moment, also just after a death: a recurring
 * schedule is planned beyond the watermark, is held without an end, or has an entry of the current
 * version; an entry of the plan has its schedule; and a hold of a group records how many members it
 * has reached.
 */
export async function judgeAside(sql: Sql): Promise<string[]> {
  const broken = await sql<Broken[]>`
    select 'neither planned nor in quarantine' as rule, s.key as name
    from carillon.schedules s
    join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    join carillon.shards h on h.id = s.shard
    where s.deleted_at is null and (s.held_since is null or s.held_until is not null) and v.body ->> 'when' !~ '^(in|at) '
      and not exists (
        select from carillon.plan p
        where p.shard = s.shard and p.schedule_id = s.id and p.version = s.version
          and (p.due_at, p.schedule_id) > (h.watermark_at, h.watermark_schedule))
      and not exists (select from carillon.plan_far f where f.schedule_id = s.id and f.version = s.version)
      and not exists (
        select from carillon.quarantine q
        where q.consumer = 'plan' and q.item = s.id::text and (q.detail ->> 'version')::int = s.version)
    union all
    select 'an entry of the plan without a schedule', q.item
    from carillon.quarantine q
    where q.consumer = 'plan' and not exists (
      select from carillon.schedules s where s.id = q.schedule_id and s.id::text = q.item and s.deleted_at is null)
    union all
    select 'held for a group whose hold is gone', s.key
    from carillon.holds h join carillon.schedules s on s.id = h.schedule_id
    where h.scope = 'group' and not exists (
      select from carillon.shared_holds g where g.scope = h.scope and g.name = h.name and g.owner = h.owner)
    union all
    select 'not held, though the hold of its group has come to all', s.key
    from carillon.shared_holds g join carillon.schedules s on s.group_key = g.name
    where g.scope = 'group' and g.reached is null and g.released_at is null and s.deleted_at is null and not exists (
      select from carillon.holds h where h.schedule_id = s.id and h.scope = g.scope and h.name = g.name and h.owner = g.owner)`;
  return namesOf(broken);
}

/** The work that remains after all faults are mended and every retry has had its time. */
export async function entriesLeft(sql: Sql): Promise<string[]> {
  const broken = await sql<Broken[]>`
    select 'left in quarantine' as rule, consumer || ' ' || item as name from carillon.quarantine
    union all
    select 'left in the inbox', command::text from carillon.inbox
    union all
    select 'refused', command::text from carillon.inbox_refusals
    union all
    select 'a hold still wanted', schedule_id::text from carillon.wanted_holds
    union all
    select 'a hold not carried to all members', name from carillon.shared_holds where reached is not null
    union all
    select 'still owed', schedule_id::text from carillon.backlog where turn_at <= carillon.clock() - interval '10 minutes'
    union all
    select case when key like 'ended:%' then 'ended and still there' when key like 'fails:%' then 'not held as was wanted' else 'handler not followed' end, key
    from carillon.schedules
    where deleted_at is null and (key like 'ended:%' or key like 'fails:%' and held_since is null or key like 'follows:%' and lane is null)
    union all
    select 'a command applied ' || found || ' times', edit::text from (
      select c.edit, (
        select count(*) from carillon.schedule_versions v where v.version = v.spec_version and (v.payload ->> 'edit')::int = c.edit) as found
      from commands c) applied
    where found <> 1`;
  return namesOf(broken);
}

/** The edits that were sent through the SQL inbox. */
export async function makeCommands(sql: Sql): Promise<void> {
  await sql`create table commands (edit int not null)`;
}
