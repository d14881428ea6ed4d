-- An edit takes back what a calendar was noted to leave out ahead of the edit's cut.
grant delete on carillon.passed_over to carillon_tick, carillon_api;

-- Ended holds are found by their own index; this one served no query.
drop index carillon.schedules_held_until;
