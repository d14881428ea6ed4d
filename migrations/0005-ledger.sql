-- What the jobs alone cannot tell: ranges of occurrences that were passed over, and who changed what.

create table carillon.passed_over (
  schedule_id bigint not null,
  from_at timestamptz(3) not null,
  to_at timestamptz(3) not null,
  count bigint not null,
  -- True where counting stopped at a bound: "at least count".
  more boolean not null default false,
  reason text not null,
  noted_at timestamptz(3) not null,
  constraint passed_over_is_a_range check (from_at <= to_at and count >= 1)
);

-- Read by the history of one schedule, newest first.
create index passed_over_schedule on carillon.passed_over (schedule_id, to_at);

-- Written in the transaction of the change, never changed afterwards.
create table carillon.audit (
  id bigint generated always as identity primary key,
  at timestamptz(3) not null,
  actor text not null,
  action text not null,
  subject text not null,
  schedule_id bigint,
  version int,
  detail jsonb
);
