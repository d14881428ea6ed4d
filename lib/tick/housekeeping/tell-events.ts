import { type TellDeps, tellBus } from "../../lifecycle/tell-bus.ts";

/** Events sent in one round, and by one tick; the next tick sends the rest. */
const perRound = 100;
const perTick = 20_000;

/**
 * Sends events that are still in the outbox: those of ticks and edits, and those that a worker
 * could not send. If the bus takes none at all, the rest waits for a later tick, each event longer
 * than before.
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
      // Retried events may be refused for their content; the bus is tried once more with new ones.
      more = round.claimed === perRound && (round.told > 0 || round.fault === null);
    }
  }
  if (told > 0) deps.log.info("tick.events-told", { events: told, bus: deps.bus });
  if (fault !== null) throw untold(deps.bus, fault);
}

function untold(bus: string, fault: string): Error {
  return new Error(`The bus ${bus} does not take events: ${fault}`);
}
