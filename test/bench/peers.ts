import { tmpdir } from "node:os";
import path from "node:path";
import { benchStack, measuredOn } from "./bench-stack.ts";
import { type Contestant, compete, enter } from "./peers/compete.ts";
import type { Peer } from "./peers/peer.ts";
import { own, peers } from "./peers/peers-list.ts";
import { type Figures, machine, number, type Options, type Say } from "./report.ts";

export { page } from "./peers/peers-page.ts";

export const does = "other schedulers and queues on the same Postgres with the same work, in turns";

export const options = {
  jobs: "50000",
  runs: "3",
  peers: peers.map(({ name }) => name).join(","),
  own: own.map(({ name }) => name).join(","),
  "peers-dir": path.join(tmpdir(), "carillon-bench-peers"),
};

/**
 * N schedules due at one instant → N no-op jobs done, and N jobs added → done, for each peer in
 * turn, including Carillon.
 */
export async function bench(options: Options, say: Say): Promise<Figures> {
  const jobs = number(options, "jobs");
  const runs = number(options, "runs");
  const directory = path.resolve(options["peers-dir"] ?? "");
  const wanted = named(peers, options["peers"] ?? "");
  const ours = named(own, options["own"] ?? "");
  say(machine());
  await using during = new AsyncDisposableStack();
  const stack = during.use(await benchStack(options["data-dir"], 2));
  say(`peers are installed in ${directory}, and kept there for the next run`);
  const skipped: { name: string; why: string }[] = [];
  const contestants: Contestant[] = [];
  for (const peer of [...wanted, ...ours]) {
    const why = await peer.available();
    const entered = why ?? (await enter(peer, { directory, stack, during }, { jobs, say }));
    if (typeof entered === "string") {
      if (ours.includes(peer)) throw new Error(`${peer.name} cannot take part: ${entered}`);
      say(`${peer.name} is left out: ${entered}`);
      skipped.push({ name: peer.name, why: entered });
    } else contestants.push(entered);
  }
  for (let run = 1; run <= runs; run++) {
    for (const contestant of contestants) await compete(contestant, stack, { run, say });
  }
  return {
    jobs,
    contestants: contestants.map(({ figures }) => figures()),
    skipped,
    ...measuredOn(stack),
  };
}

function named(among: readonly Peer[], names: string): Peer[] {
  return names
    .split(",")
    .filter((name) => name !== "")
    .map((name) => {
      const peer = among.find((each) => each.name === name);
      if (peer === undefined)
        throw new Error(
          `There is no peer ${name}; the peers are ${among.map((each) => each.name).join(", ")}.`,
        );
      return peer;
    });
}
