import { SendMessageCommand, type SQSClient } from "@aws-sdk/client-sqs";
import type { Carillon } from "../../../lib/client/main.ts";
import type { Sql } from "../../../lib/db/connect.ts";
import type { Dice } from "../../race/seeded.ts";

/** Holds of several owners: of single schedules, of a group and of a tag. Of 600 schedules or more. */
export async function hold(client: Carillon, now: Date, dice: Dice): Promise<void> {
  const inTwoHours = new Date(now.getTime() + 2 * 3_600_000);
  for (let n = 0; n < 30; n++)
    await client.schedules.pause(`device:${dice.between(0, 150)}`, {
      owner: dice.pick(["anna", "deploys", "night-shift"]),
      reason: dice.pick(["firmware update", "customer asked", "flaky sensor"]),
      ...(dice.chance(0.5) ? { until: inTwoHours } : {}),
    });
  await client.tags.pause("reports", { owner: "deploys", reason: "new template", until: inTwoHours });
  await client.groups.pause("crm:account:7", { owner: "anna", reason: "account is in dispute" });
}

/** Changes that move, withdraw and delete runs, some by a token of their own. */
export async function edit(client: Carillon, other: Carillon, dice: Dice): Promise<void> {
  for (let n = 0; n < 40; n++)
    await dice.pick([client, other]).schedules.patch(`crm:contact:${n}`, { when: `${n} 5 * * *` });
  for (let n = 40; n < 60; n++) await other.schedules.delete(`crm:contact:${n}`);
  for (let n = 60; n < 70; n++) await client.schedules.fire(`crm:contact:${n}`);
}

const refused = [
  { when: "0 0 31 2 *", target: { queue: "demo" } },
  { when: "every 1h" },
  { when: "every 1h", target: { handler: "nothing-like-it" } },
  { when: "0 9 * *", target: { queue: "demo" }, timezone: "Europe/Belrin" },
];

/** Commands that are refused: on the ingest queue, and in the SQL inbox. */
export async function refuse(sqs: SQSClient, queueUrl: string, sql: Sql): Promise<void> {
  for (let n = 0; n < 24; n++) {
    const put = { key: `refused:queue:${n}`, ...refused[n % refused.length] };
    await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: JSON.stringify({ put }) }));
  }
  for (let n = 0; n < 8; n++) {
    const put = JSON.stringify({ key: `refused:sql:${n}`, ...refused[n % 2 === 0 ? 0 : 2] });
    await sql`select carillon.put_schedule(${put}::text::jsonb)`;
  }
}
