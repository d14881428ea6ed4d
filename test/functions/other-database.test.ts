import { expect, test } from "vitest";
import { create, migrationFunction, update } from "./migration-function.ts";

const own = migrationFunction();
const secrets = { first: "the-first-token" };
const addresses = { from: "old:5432/carillon", to: "new:5432/carillon" };

const nextIds = async (): Promise<{ schedule: number; parcel: number } | undefined> => {
  const [ids] = await own.sql<{ schedule: number; parcel: number }[]>`
    select nextval('carillon.schedules_id_seq')::float8 as schedule, nextval('carillon.parcels_id_seq')::float8 as parcel`;
  return ids;
};

test("A deployment that names another database without tables of Carillon fails and changes nothing", async () => {
  const moved = own.invoke(update("first", "first", addresses), secrets);
  await expect(moved).rejects.toThrow(
    "The database at new:5432/carillon has no tables of Carillon, and this deployment had its schedules at old:5432/carillon. Nothing was changed.",
  );
  await expect(moved).rejects.toThrow("databaseMayBeEmpty=true");
  expect(await own.sql`select from pg_namespace where nspname = 'carillon'`).toHaveLength(0);
  expect(await own.sql`select from pg_roles where rolname like 'carillon%'`).toHaveLength(0);
});

test("A deployment may name an empty database where databaseMayBeEmpty is set", async () => {
  await own.invoke(update("first", "first", { ...addresses, mayBeEmpty: "true" }), secrets);
  expect(await own.sql`select from carillon.tokens`).toHaveLength(1);
});

test("A restored database never gives out ids that the lost one gave out after its backup", async () => {
  await own.invoke(create("first"), secrets);
  const ofBackup = await nextIds();
  const ofLost = await nextIds();
  // The restored database counts on from the ids of its backup.
  await own.sql`select setval('carillon.schedules_id_seq', ${ofBackup?.schedule ?? 0}), setval('carillon.parcels_id_seq', ${ofBackup?.parcel ?? 0})`;
  await own.invoke(update("first", "first", addresses), secrets);
  const ofRestored = await nextIds();
  expect(ofRestored?.schedule).toBeGreaterThan((ofLost?.schedule ?? 0) + 999_999_990);
  expect(ofRestored?.parcel).toBeGreaterThan((ofLost?.parcel ?? 0) + 999_999_990);
});

test("A new stack on a restored database leaves out the ids that the lost one may have given out", async () => {
  await own.invoke(create("first"), secrets);
  const before = await nextIds();
  await own.invoke(create("first"), secrets);
  expect((await nextIds())?.schedule).toBeGreaterThan((before?.schedule ?? 0) + 999_999_990);
});

test("A deployment that keeps its database leaves out no ids", async () => {
  await own.invoke(create("first"), secrets);
  const before = await nextIds();
  await own.invoke(update("first", "first", { from: addresses.to, to: addresses.to }), secrets);
  await own.invoke(update("first", "first"), secrets);
  expect(await nextIds()).toEqual({
    schedule: (before?.schedule ?? 0) + 1,
    parcel: (before?.parcel ?? 0) + 1,
  });
});
