import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;

beforeAll(async () => {
  cli = await ownCli();
  for (const key of ["crm:1", "crm:2"])
    await cli.carillon(["put", key, "--when", "every 1h", "--queue", "demo"]);
});

afterAll(() => cli.stop());

test.each([
  [
    ["ls", "crm:", "--prefix", "device:"],
    '"crm:" and --prefix "device:" are both a prefix: give one of them.',
  ],
  [["jobs", "crm:1", "--key", "crm:2"], '"crm:1" and --key "crm:2" are both a key: give one of them.'],
  [["tail", "crm:1", "--key", "crm:2"], '"crm:1" and --key "crm:2" are both a key: give one of them.'],
])("An argument beside the option of the same meaning is refused: %j", async (args, why) => {
  const { code, out, err } = await cli.carillon(args);
  expect({ code, out, first: err.split("\n")[0] }).toEqual({ code: 2, out: "", first: why });
});

test.each([["get"], ["pause"], ["patch", "--when", "every 2h"], ["rm"]])(
  "A command on a deleted key names the command that explains it: %s",
  async (verb, ...more) => {
    await cli.carillon(["put", "gone", "--when", "every 1h", "--queue", "demo"]);
    await cli.carillon(["rm", "gone"]);
    const { code, err } = await cli.carillon([verb, "gone", ...more]);
    expect({ code, err }).toEqual({
      code: 4,
      err: expect.stringMatching(/ \(404\)\ncarillon explain gone shows whether it was deleted\.\n$/),
    });
    expect((await cli.carillon(["explain", "gone"])).out).toMatch(/deleted/);
  },
);

test("The versions of a deleted key are listed, with its deletion first", async () => {
  await cli.carillon(["put", "listed", "--when", "every 1h", "--queue", "demo"]);
  await cli.carillon(["rm", "listed"]);
  const { code, out } = await cli.carillon(["versions", "listed"]);
  expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/deleted.*created/s) });
});

test.each([["for real"], ["in a dry run", "--dry-run"]])(
  "A restore of a version that does not exist names the command that lists the versions: %s",
  async (_, ...more) => {
    const { code, err } = await cli.carillon(["restore", "crm:1", "99", ...more]);
    expect({ code, err }).toEqual({
      code: 4,
      err: "The schedule crm:1 has no version 99. (404)\ncarillon versions crm:1 lists its versions, also if it was deleted.\n",
    });
  },
);

test("An empty list of keys beyond the token's prefix says which keys the token reaches", async () => {
  const { out: secret } = await cli.carillon(["token", "create", "billing", "--prefix", "billing:"]);
  const as = { env: { CARILLON_TOKEN: secret.trim() } };
  const reach = "This token reaches keys that begin with billing: only.\n";
  for (const [args, none] of [
    [["ls", "crm:"], "No schedule matches.\n"],
    [["jobs", "--prefix", "crm:"], "No job matches.\n"],
  ] as const)
    expect(await cli.carillon(args, as)).toEqual({ code: 0, out: "", err: none + reach });
  expect((await cli.carillon(["ls", "billing:1"], as)).err).toBe("No schedule matches.\n");
  expect((await cli.carillon(["ls", "b"], as)).err).toBe("No schedule matches.\n");
  expect((await cli.carillon(["ls", "none:"])).err).toBe("No schedule matches.\n");
});
