import { type TellDeps, tellBus } from "../../lifecycle/tell-bus.ts";

/** So many events are taken at once, and so many by one tick: the others are the next one's. */
const perRound = 100;
const perTick = 20_000;

/**
 * Tells the bus what nobody has told it yet: what was noted by ticks and edits, and what its worker did not come to tell. Where the bus
 * takes nothing at all the rest waits for a later tick, each event longer than before.
 */
export async function tellEvents(deps: TellDeps, timeIsUp: () => boolean): Promise<void> {
  let left = perTick;
  let told = 0;
  let fault: string | null = null;
  for (const wanted of ["due", "fresh"] as const) {
    for (let more = true; more && left > 0 && !timeIsUp(); ) {
      const round = await tellBus(deps, wanted, Math.min(perRound, left));
      left -= round.claimed;
      told += round.told;
      fault ??= round.fault;
      // Those that come again may be refused for what they are; the bus is asked once more with those that are new.
      more = round.claimed === perRound && (round.told > 0 || round.fault === null);
    }
  }
  if (told > 0) deps.log.info("tick.events-told", { events: told, bus: deps.bus });
  if (fault !== null) throw untold(deps.bus, fault);
}

function untold(bus: string, fault: string): Error {
  return new Error(`The bus ${bus} does not take events: ${fault}`);
}
