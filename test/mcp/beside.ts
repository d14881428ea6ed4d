import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import type { OwnCli } from "../cli/own-cli.ts";

/** Requests of a person beside the agent. */
export interface Beside {
  send(method: string, path: string, body?: object): Promise<Record<string, unknown>>;
  schedule(key: string): Promise<Record<string, unknown>>;
  jobsOf(key: string): Promise<{ id: string; state: string }[]>;
  /** Fires a schedule, and lets the job die. */
  dies(key: string): Promise<void>;
}

export function beside({ api }: OwnCli): Beside {
  const send = async (method: string, path: string, body?: object) => {
    const { json } = await api.send(method, path, body === undefined ? {} : { body });
    return { ...Object(json) };
  };
  return {
    send,
    schedule: (key) => send("GET", `/v1/schedules/${key}`),
    jobsOf: async (key) => (await send("GET", `/v1/schedules/${key}/jobs`))["items"],
    dies: async (key) => {
      await send("POST", `/v1/schedules/${key}/fire`);
      const [row] = await api.sql<{ id: string }[]>`
        select p.id from carillon.parcels p join carillon.schedules s on s.id = any(p.schedule_ids)
        where s.key = ${key} order by p.id desc limit 1`;
      const parcel = await claimParcel(api.sql, row?.id ?? "0", 30_000);
      if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
      const error = "Error: db is down";
      await settleParcel(api.sql, parcel, [{ kind: "dead", error, errorClass: "Error", stack: undefined }]);
    },
  };
}
