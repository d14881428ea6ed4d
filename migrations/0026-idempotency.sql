-- What makes a request with an Idempotency-Key happen once: who works it, the results of its transactions, and its answer. What a
-- transaction came to is written inside it, so that a process may die anywhere. Everything here is sealed with the caller's own token.
create table carillon.idempotency (
  token_id uuid not null,
  key text collate "C" not null,
  -- Of method, path, query, preconditions and body: the same key with something else is a mistake.
  fingerprint bytea not null,
  -- Rises with everyone who takes the request over; who has an older one commits nothing any more.
  claim int not null,
  claimed_until timestamptz(3) not null,
  -- How many of its transactions are committed.
  steps int not null default 0,
  answer bytea,
  created_at timestamptz(3) not null,
  constraint idempotency_pkey primary key (token_id, key)
);

create table carillon.idempotency_steps (
  token_id uuid not null,
  key text collate "C" not null,
  -- The how manieth transaction of its request it is.
  n int not null,
  result bytea not null,
  constraint idempotency_steps_pkey primary key (token_id, key, n),
  constraint idempotency_steps_request foreign key (token_id, key) references carillon.idempotency on delete cascade
);

-- Compressed before they are sealed.
alter table carillon.idempotency alter column answer set storage external;
alter table carillon.idempotency_steps alter column result set storage external;

-- Read by ticks: what is over a day old.
create index idempotency_oldest on carillon.idempotency (created_at);

grant select, insert, update, delete on carillon.idempotency to carillon_api;
grant select, insert, delete on carillon.idempotency_steps to carillon_api;
grant select (token_id, key, created_at), delete on carillon.idempotency to carillon_tick;

-- Limits are set by people who have looked at them before: what was set meanwhile must not be lost.
alter table carillon.targets add column revision int not null default 1;
