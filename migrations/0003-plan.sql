-- The plan: "this schedule, in this version, is next due then". Insert-only: nothing in it is ever updated; an edit
-- raises the schedule's version and the old rows die unread. Read once, in order, behind a watermark that only rises.

create table carillon.shards (
  id smallint primary key,
  -- Everything up to this pair has become jobs. A pair, because many schedules may share an instant.
  watermark_at timestamptz(3) not null,
  watermark_schedule bigint not null,
  -- How far ahead jobs may exist already: a batch expands its schedules up to its horizon before the watermark is there.
  reached_at timestamptz(3) not null,
  -- Rows due before this lie in the near plan (daily partitions), later ones in the far table.
  near_until timestamptz(3) not null
) with (fillfactor = 50);

create table carillon.plan (
  due_at timestamptz(3) not null,
  occurrence timestamptz(3) not null,
  schedule_id bigint not null,
  every_ms bigint,
  version int not null,
  cadence_id int,
  shard smallint not null
) partition by range (due_at);

-- Read by the tick: a shard's rows beyond its watermark up to the horizon, in order.
create index plan_due on carillon.plan (shard, due_at, schedule_id);

create table carillon.plan_far (
  like carillon.plan
);

-- Read by the tick when rows come near: a shard's earliest rows.
create index plan_far_due on carillon.plan_far (shard, due_at);
