-- Bearer tokens. Only the SHA-256 of a token is kept: it is random and long, so a plain hash cannot be reversed,
-- and finding it by index compares nothing secret byte by byte.
create table carillon.tokens (
  id uuid primary key,
  hash bytea not null,
  name text not null,
  scope text not null,
  created_at timestamptz(3) not null,
  created_by text not null,
  expires_at timestamptz(3),
  last_used_at timestamptz(3),
  constraint tokens_scope check (scope in ('read', 'write', 'admin')),
  -- Read by every request.
  constraint tokens_hash unique (hash)
);
