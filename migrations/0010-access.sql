-- Tokens, requests that happen once, and the audit.

-- Bearer tokens. Only the SHA-256 of a token is kept: a token is random and long, so its hash cannot be reversed, and the search by index
-- compares nothing secret byte by byte.
create table carillon.tokens (
  id uuid primary key,
  hash bytea not null,
  name text not null,
  scope text not null,
  created_at timestamptz(3) not null,
  created_by text not null,
  expires_at timestamptz(3),
  last_used_at timestamptz(3),
  -- A team's token reaches only keys with this prefix.
  prefix text collate "C",
  -- `rate_count` units in `rate_ms`. Null: what the deployment allows each token.
  rate_count int,
  rate_ms int,
  rotated_at timestamptz(3),
  -- The first prefix in the chain of tokens that made this one: the holds of all of them count together. Null with all keys, and if it is
  -- the token's own prefix.
  team text collate "C",
  -- The token whose bucket this one shares, the maker's or one above it. Null: it has a bucket of its own. No foreign key: the bucket outlives
  -- its token, so that deleting a token does not free those that it made.
  bucket uuid,
  -- The buckets above that one, outermost first, as `[{"bucket": "…", "rate": "100/s"}]`; `rate` is null for what the deployment allows each
  -- token. A copy, since rates of tokens never change: a request reads one row. Null: none.
  rates_above jsonb,
  constraint tokens_scope check (scope in ('read', 'write', 'admin')),
  -- Read by every request.
  constraint tokens_hash unique (hash),
  -- Read by lists, in the order of the names. A name is the actor in the audit and owns holds. Tokens of different prefixes may share one:
  -- otherwise a team could ask which names other teams have.
  constraint tokens_name unique nulls not distinct (name, prefix),
  constraint tokens_rate check ((rate_count is null) = (rate_ms is null) and rate_count > 0 and rate_ms > 0),
  constraint tokens_rates_above check (jsonb_array_length(rates_above) between 1 and 7)
);

-- Secrets that a newer one has replaced, for as long as both are valid. They stay afterwards, as do those of deleted tokens, so that no old
-- secret is ever taken for a new one.
create table carillon.earlier_secrets (
  hash bytea primary key,
  token_id uuid references carillon.tokens on delete set null,
  ends_at timestamptz(3) not null
);
-- Read when the token is rotated, read or deleted.
create index earlier_secrets_token on carillon.earlier_secrets (token_id, ends_at);

-- How much of each rate is used: a row for each token with a bucket of its own (`token …`), and one for each team (`team …`, the first prefix
-- of its tokens). Each function takes a share from it for a moment ahead.
create table carillon.rate_buckets (
  id text collate "C" primary key,
  at timestamptz(3) not null,
  -- Units taken by then, less what the rate has given back since. Above the rate's number the bucket is in debt.
  used double precision not null,
  constraint rate_buckets_used check (used >= 0 and used < 'infinity')
);

-- Prefixes whose schedules are counted and limited: the first prefixes of tokens and other callers, and those that the setting `quotas` names.
-- A row stays for good. No foreign key leads here: each new schedule would lock the row.
create table carillon.teams (
  id int generated always as identity primary key,
  prefix text collate "C" not null,
  created_at timestamptz(3) not null,
  -- The last key that was given to this team of those that existed before it.
  reached text collate "C" not null default '',
  -- When all of them were.
  assigned_at timestamptz(3),
  -- Its share of the workers, compared with other teams that have many jobs due at once.
  weight smallint not null default 1,
  constraint teams_weight check (weight between 1 and 100),
  constraint teams_prefix unique (prefix),
  constraint teams_prefix_is_none check (prefix <> '')
);
-- Read by the tick: teams with schedules to be assigned.
create index teams_unassigned on carillon.teams (id) where assigned_at is null;

-- The limits of the setting `quotas`, replaced by each deployment. Those of the empty prefix are for every prefix without one of its own.
create table carillon.quota_limits (
  prefix text collate "C" not null,
  kind text not null,
  -- Null: no limit.
  most bigint,
  primary key (prefix, kind),
  constraint quota_limits_most check (most >= 0)
);

-- One row: the key with which cursors are encrypted. It never leaves the API.
create table carillon.cursor_key (
  one boolean primary key default true,
  key bytea not null default sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
  constraint cursor_key_one_row check (one),
  constraint cursor_key_length check (octet_length(key) = 32)
);

-- One row. The mark changes with each change of teams or of their limits: functions keep what they have read for each mark.
create table carillon.team_list (
  one boolean primary key default true,
  mark uuid not null default gen_random_uuid(),
  -- The lengths of all prefixes, ascending: the prefixes of a key are found by them.
  lengths int[] not null default '{}',
  -- The next block of ids whose schedules a tick counts.
  counted_block int not null default 0,
  counted_at timestamptz(3) not null default 'epoch',
  -- The prefixes of moves out, whose keys may be elsewhere. Read with the teams, by each edit.
  moved_out text[] not null default '{}',
  constraint team_list_one_row check (one)
);

-- The sum over all rows of a team is what it uses. An edit changes any row that no other transaction has locked, or adds one, so edits never
-- wait for each other here. A block is 2^18 ids of schedules: a tick counts its schedules in one statement.
create table carillon.usage (
  team_id int not null,
  block int not null,
  n int not null,
  schedules int not null,
  -- Planned occurrences in an average year.
  per_year bigint not null,
  payload_bytes bigint not null,
  -- The bytes of payloads and targets that were written on the day (UTC) of written_on. Those of earlier days are forgotten with the next change of the row.
  written_bytes bigint not null default 0,
  written_on date not null default 'epoch',
  primary key (team_id, block, n)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- Keys that credentials of webhooks are sealed with. The newest seals; the public key is enough for it. The private key is itself sealed, by
-- KMS in AWS, for the function that sends webhooks.
create table carillon.sealing_keys (
  id int generated always as identity primary key,
  -- On P-256, as SPKI.
  public_key bytea not null,
  sealed_private_key bytea not null,
  -- The key of the hashes by which an equal credential is recognized.
  print_key bytea not null,
  made_at timestamptz(3) not null,
  made_by text not null,
  -- When a credential that another key had sealed was last sealed with this one.
  sealed_at timestamptz(3)
);

-- Requests with an Idempotency-Key: the process that works on one, the results of its transactions, and its answer. A transaction's result
-- is written inside the transaction, so the process may die anywhere. Everything is sealed with the caller's own token.
create table carillon.idempotency (
  token_id uuid not null,
  key text collate "C" not null,
  -- Hash of method, path, query, preconditions and body: the same key with another request is a mistake.
  fingerprint bytea not null,
  -- Raised by each process that takes the request over. A process with an older number commits nothing any more.
  claim int not null,
  claimed_until timestamptz(3) not null,
  -- How many of its transactions are committed.
  steps int not null default 0,
  answer bytea,
  created_at timestamptz(3) not null,
  constraint idempotency_pkey primary key (token_id, key)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);
-- Read by ticks: requests that are older than a day.
create index idempotency_oldest on carillon.idempotency (created_at);

create table carillon.idempotency_steps (
  token_id uuid not null,
  key text collate "C" not null,
  -- The number of the transaction within its request.
  n int not null,
  result bytea not null,
  constraint idempotency_steps_pkey primary key (token_id, key, n),
  constraint idempotency_steps_request foreign key (token_id, key) references carillon.idempotency on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);

-- Both are compressed before they are sealed.
alter table carillon.idempotency alter column answer set storage external;
alter table carillon.idempotency_steps alter column result set storage external;

-- Written in the transaction of the change, never changed afterwards, except that a request for many jobs counts on in its entry. Read newest first: as it is, or by a subject or an actor; the action is
-- tested on the way. A prefix is a range of subjects. Every edit pays for each index. Rows are written at one end and deleted at the other a
-- year later, so the dead ones are always at the front, where the purge looks.
create table carillon.audit (
  id bigint generated always as identity,
  at timestamptz(3) not null,
  actor text not null,
  action text not null,
  subject text collate "C" not null,
  schedule_id bigint,
  version int,
  detail jsonb,
  origin jsonb,
  -- For an action on more than one schedule: the keys that it concerns begin with this.
  prefix text collate "C",
  primary key (at, id)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000, autovacuum_vacuum_insert_scale_factor = 0.05);
-- `schedule_id` tells an entry of a schedule from all others, so that a prefix is searched in the index alone.
create index audit_subject on carillon.audit (subject, at, id) include (schedule_id);
create index audit_actor on carillon.audit (actor, at, id);
create index audit_prefix on carillon.audit (prefix, at, id) where prefix is not null;
-- Read by the versions of a schedule, and where an occurrence is explained: which actor held it, and why.
create index audit_schedule on carillon.audit (schedule_id, version) where schedule_id is not null;
-- Read by the versions that a bulk action made: they name its entry.
create index audit_bulk on carillon.audit (id)
  where action in ('schedules.paused', 'schedules.resumed', 'schedules.deleted', 'schedules.patched');
-- Read by the board of holds: those that have ended, newest first. The end of a label's hold is one entry; those of its members are left out.
create index audit_holds_ended on carillon.audit (at, id)
  where action in ('schedule.resumed', 'group.resumed', 'tag.resumed', 'schedules.resumed') and (detail ?| array['group', 'tag']) is not true;
