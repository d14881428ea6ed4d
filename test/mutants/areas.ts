import type { Mutant } from "./mutant.ts";
import { apiRows } from "./rows/api.ts";
import { asideRows } from "./rows/aside.ts";
import { badRows } from "./rows/bad-rows.ts";
import { batchRows } from "./rows/batch.ts";
import { callerRows, onlySqsRows } from "./rows/callers.ts";
import { control } from "./rows/control.ts";
import { inboxTurnRows } from "./rows/inbox-turns.ts";
import { ingest } from "./rows/ingest.ts";
import { laneRows } from "./rows/lanes.ts";
import { oneJobRows } from "./rows/one-job.ts";
import { parcel } from "./rows/parcel.ts";
import { plan } from "./rows/plan.ts";
import { queuePrefixRows } from "./rows/queue-prefix.ts";
import { quotaRows } from "./rows/quota.ts";
import { reachRows } from "./rows/reach.ts";
import { retentionRows } from "./rows/retention.ts";
import { sealedRows } from "./rows/sealed.ts";
import { shownRows } from "./rows/shown.ts";
import { statsRows } from "./rows/stats.ts";
import { target } from "./rows/target.ts";
import { teamPlaceRows } from "./rows/team-places.ts";
import { teamRows } from "./rows/teams.ts";
import { ticks } from "./rows/tick.ts";
import { tokens } from "./rows/token.ts";
import { versionlessRows } from "./rows/versionless.ts";
import { webhooks } from "./rows/webhook.ts";
import { worker } from "./rows/worker.ts";

/** The safeguards by area, as `npm run mutants -- AREA` selects them. */
export const areas: Readonly<Record<string, readonly Mutant[]>> = {
  ingest,
  inbox: inboxTurnRows,
  lanes: laneRows,
  teams: [...teamRows, ...teamPlaceRows],
  quota: quotaRows,
  target,
  batch: batchRows,
  plan: [...plan, ...asideRows],
  control,
  parcel,
  "one-job": [...oneJobRows, ...versionlessRows],
  worker,
  tick: ticks,
  "bad-rows": badRows,
  token: tokens,
  webhook: webhooks,
  api: [...reachRows, ...queuePrefixRows, ...apiRows, ...shownRows, ...sealedRows],
  retention: retentionRows,
  stats: statsRows,
  local: [...callerRows, ...onlySqsRows],
};
