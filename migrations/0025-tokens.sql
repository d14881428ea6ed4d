-- A team's token reaches its own keys only; and the audit tells where a change came from.
alter table carillon.tokens add column prefix text collate "C";
alter table carillon.audit add column origin jsonb;

-- A token's name stands as the actor of what was done with it, and owns holds: two of one name would share them.
update carillon.tokens t set name = t.name || '-' || left(t.id::text, 8)
where exists (
  select from carillon.tokens o where o.name = t.name and (o.created_at, o.id) < (t.created_at, t.id));

alter table carillon.tokens
  -- So many requests in so many milliseconds; null for what the deployment allows each token.
  add column rate_count int,
  add column rate_ms int,
  add column rotated_at timestamptz(3),
  -- Read by lists, in this order.
  add constraint tokens_name unique (name),
  add constraint tokens_rate check ((rate_count is null) = (rate_ms is null) and rate_count > 0 and rate_ms > 0);

-- Secrets that a newer one has taken the place of, for as long as both are good; and from then on, as those of deleted tokens, so that
-- none is ever taken for a new one.
create table carillon.earlier_secrets (
  hash bytea primary key,
  token_id uuid references carillon.tokens on delete set null,
  ends_at timestamptz(3) not null
);
-- Read when the token is rotated, read or deleted.
create index earlier_secrets_token on carillon.earlier_secrets (token_id, ends_at);

-- What a token with a rate has used of it: one row, from which each function takes a share for a moment ahead.
create table carillon.token_allowances (
  token_id uuid primary key references carillon.tokens on delete cascade,
  at timestamptz(3) not null,
  -- Requests that were let in by then, less what the rate has given back since.
  used double precision not null,
  -- What was given the last time.
  given int not null
);

grant select, insert, update on carillon.earlier_secrets to carillon_api;
grant select, insert, update on carillon.token_allowances to carillon_api;

-- A hold that is carried to members tells from where it was asked for. Set with a token that reaches some keys, it binds these alone,
-- and the same owner's hold for other keys is another one.
alter table carillon.shared_holds
  add column origin jsonb,
  add column prefix text collate "C" not null default '',
  drop constraint shared_holds_pkey,
  add primary key (scope, name, prefix, owner);

-- The audit is read newest first: as it is, or by a subject or an actor; what was done is tested on the way. A prefix is a range of
-- subjects. Every edit writes here, so that each index has to be worth what all of them pay.
alter table carillon.audit
  drop constraint audit_pkey,
  add primary key (at, id),
  alter column subject type text collate "C",
  -- Of what is not one schedule: the keys that are concerned begin with this.
  add column prefix text collate "C";
-- With the column by which a schedule is told from all else, so that a prefix is looked through in the index alone.
create index audit_subject on carillon.audit (subject, at, id) include (schedule_id);
create index audit_actor on carillon.audit (actor, at, id);
create index audit_prefix on carillon.audit (prefix, at, id) where prefix is not null;
