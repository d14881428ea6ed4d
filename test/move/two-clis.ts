import { afterAll, beforeAll } from "vitest";
import { type OwnCli, ownCli } from "../cli/own-cli.ts";

/** Two installations, each with its CLI, for the tests of a file. */
export function twoClis(): { readonly old: OwnCli; readonly other: OwnCli } {
  const made: OwnCli[] = [];
  beforeAll(async () => {
    for (let n = 0; n < 2; n++) {
      const cli = await ownCli();
      made.push(cli);
      await cli.api.tick();
    }
  });
  afterAll(async () => {
    for (const cli of made) await cli.stop();
  });
  const nth = (n: number) => {
    const cli = made[n];
    if (cli === undefined) throw new Error("The installations are made before the first test.");
    return cli;
  };
  return {
    get old() {
      return nth(0);
    },
    get other() {
      return nth(1);
    },
  };
}
