-- A team's token reaches its own keys only; and the audit tells where a change came from.
alter table carillon.tokens add column prefix text collate "C";
alter table carillon.audit add column origin jsonb;
