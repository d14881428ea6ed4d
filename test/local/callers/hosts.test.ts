import { describe, expect, test } from "vitest";
import { parseArguments } from "../../../lib/cli/arguments.ts";
import { devText } from "../../../lib/cli/dev/dev-options.ts";
import { devSettings } from "../../../lib/tools/dev/dev-settings.ts";
import { readSettings } from "../../../lib/tools/local/settings.ts";

const hostsOf = (CARILLON_HOSTS: string | undefined) => readSettings({ CARILLON_HOSTS }).hosts;
const devHosts = (args: readonly string[], env: Record<string, string> = {}) =>
  devSettings(parseArguments(devText, args).given, env, "/tmp").local.hosts;

describe("the hosts to which the local stack answers", () => {
  test("CARILLON_HOSTS has names and addresses, in any case, with commas between them", () => {
    expect(hostsOf(undefined)).toEqual([]);
    expect(hostsOf("")).toEqual([]);
    expect(hostsOf("Host.Docker.internal,10.0.0.5,[fd00::1],my_host")).toEqual([
      "host.docker.internal",
      "10.0.0.5",
      "[fd00::1]",
      "my_host",
    ]);
  });

  test("--hosts adds to CARILLON_HOSTS, and may be given several times", () => {
    expect(devHosts([])).toEqual([]);
    expect(devHosts(["--hosts", "a.test,b.test", "--hosts=c.test"], { CARILLON_HOSTS: "d.test" })).toEqual([
      "d.test",
      "a.test",
      "b.test",
      "c.test",
    ]);
  });

  test.each(["*", "*.test", "http://carillon.test", "carillon.test:8787", "a,,b", "a, b", "::1", "a."])(
    "%j is refused when the stack starts, with what is allowed",
    (value) => {
      const allowed = /; it takes names or addresses of hosts such as host\.docker\.internal/;
      expect(() => hostsOf(value)).toThrow(/^The environment variable CARILLON_HOSTS has "/);
      expect(() => hostsOf(value)).toThrow(allowed);
      expect(() => devHosts([`--hosts=${value}`])).toThrow(/^--hosts has "/);
      expect(() => devHosts([`--hosts=${value}`])).toThrow(allowed);
    },
  );
});
