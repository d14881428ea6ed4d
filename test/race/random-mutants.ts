import type { Sql } from "../../lib/db/connect.ts";
import { gate, planLock } from "../../lib/db/locks.ts";
import {
  claimLeased,
  oneSnapshot,
  replaceIn,
  watermarkApart,
  watermarkBeforeLock,
  withoutLock,
  withoutTrying,
} from "./mutants.ts";
import type { RaceOptions } from "./race.ts";

type Mutate = NonNullable<RaceOptions["mutate"]>;

/**
 * Safeguards that a race can run without, by name: the oracle must then find the resulting faults.
 */
export const mutants: Readonly<Record<string, (side: Sql) => Mutate | Promise<Mutate>>> = {
  "no-plan-lock": () => ({ admin: withoutLock({ lockClass: planLock, shared: true }) }),
  "no-tick-lock": () => ({ ticker: withoutLock({ lockClass: planLock, shared: false }) }),
  "no-lock-for-idle": () => ({ ticker: withoutTrying() }),
  "watermark-before-lock": () => ({ admin: watermarkBeforeLock(true) }),
  "watermark-apart": (side) => ({ ticker: watermarkApart(side) }),
  "no-gate-for-edits": () => ({ admin: withoutLock({ lockClass: gate, shared: false }) }),
  "no-gate-for-claims": async (side) => {
    await replaceIn(side, "claim_parcel", "perform pg_advisory_xact_lock_shared(2, v_shard);", "");
    await replaceIn(side, "claim_parcels", "pg_advisory_xact_lock_shared(2, g.shard)", "g.shard");
    await replaceIn(side, "claim_company", "pg_try_advisory_xact_lock_shared(2, g.shard)", "true");
    return {};
  },
  "one-snapshot": (side) => ({ worker: oneSnapshot(side) }),
  "no-lease": async (side) => {
    await claimLeased(side);
    await replaceIn(side, "claim_parcels", "and p.lease_until is null", "");
    await replaceIn(side, "claim_company", "and p.lease_until is null", "");
    return {};
  },
  "no-fence": async (side) => {
    await replaceIn(side, "settle_parcel", "and p.fence = p_fence", "");
    await replaceIn(side, "settle_parcels", "and p.fence = m.fence", "");
    return {};
  },
  "no-parcel-test": async (side) => {
    await replaceIn(side, "plain_jobs", "and j.parcel_id = any(p_parcels)", "");
    await replaceIn(side, "write_successes", "and j.parcel_id = any(p_parcels)", "");
    return {};
  },
};
