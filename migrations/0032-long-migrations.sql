-- What the runner of migrations keeps beside their numbers (docs/migrations.md).
-- carillon: back to 31

-- Whose functions work with the tables as a migration leaves them: those of releases that know this number at least. Null: no older ones.
alter table carillon.migrations add column back_to int;

-- Where one that is done in batches has come to. It is not among those that are applied until it is through.
create table carillon.unfinished_migrations (
  number int primary key,
  place text not null
);
