import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { setAside } from "../../lib/quarantine/quarantine.ts";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;
let scheduleId: string;

beforeAll(async () => {
  cli = await ownCli();
  const put = await cli.carillon(["put", "q:1", "--when", "every 1d", "--queue", "demo", "--json"]);
  scheduleId = JSON.parse(put.out).id;
});

afterAll(() => cli.stop());

beforeEach(async () => {
  await cli.api.sql`delete from carillon.quarantine`;
});

const asideOfSchedule = () =>
  setAside(cli.api.sql, "ended", [{ item: scheduleId, scheduleId, error: new Error("no luck") }]);

test("carillon quarantine lists each row with its key and reason, one JSON line per row for machines", async () => {
  expect(await cli.carillon(["quarantine"])).toMatchObject({ code: 0, err: "No row is set aside.\n" });
  await asideOfSchedule();
  await setAside(cli.api.sql, "lease", [{ item: "77", error: new Error("no") }]);
  const { code, out } = await cli.carillon(["quarantine"]);
  expect(code).toBe(0);
  expect(out).toMatch(/^CONSUMER +ITEM +KEY +SINCE \(UTC\) +TRIES +NEXT \(UTC\) +WHY\n/);
  expect(out).toMatch(new RegExp(`\\nended +${scheduleId} +q:1 .* 1 .* Error: no luck\\n`));
  const machine = await cli.carillon(["quarantine", "--consumer", "lease", "--json"]);
  expect(JSON.parse(machine.out)).toMatchObject({ consumer: "lease", item: "77", key: null, tries: 1 });
});

test("carillon quarantine --retry retries all rows that match the filters, however many there are", async () => {
  await asideOfSchedule();
  expect((await cli.carillon(["quarantine", "--key", "q:1", "--retry"])).out).toBe(
    "The next tick retries 1 row.\n",
  );
  await cli.api.sql`
    insert into carillon.quarantine (consumer, item, reason, first_at, last_at, tries, next_at)
    select 'lease', n, 'no', carillon.clock(), carillon.clock(), 1, 'infinity' from generate_series(1, 1500) n`;
  const { out } = await cli.carillon(["quarantine", "--consumer", "lease", "--retry", "--json"]);
  expect(JSON.parse(out)).toEqual({ done: 1_500 });
});

test("carillon stats shows the quarantine where it is not empty", async () => {
  expect((await cli.carillon(["stats"])).out).not.toContain("set aside");
  await asideOfSchedule();
  expect((await cli.carillon(["stats"])).out).toMatch(/\nset aside +1, the oldest since 2026-03-02 10:00:0/);
});
