import type { Sql } from "../../lib/db/connect.ts";
import { readSealed } from "../../lib/schedule/shape/sealed-text.ts";
import { credentialsOf, type Webhook } from "../../lib/schedule/shape/webhook-credentials.ts";
import { OpenedKeys, openCredentials } from "../../lib/sealing/open-credentials.ts";
import { rememberedKeys } from "../../lib/sealing/sealing-keys.ts";
import { testVault } from "../support/test-vault.ts";

/** A stored webhook with its credentials in clear, as the function that sends webhooks has it. */
export async function openedWebhook(sql: Sql, stored: Webhook): Promise<Webhook> {
  const ids = credentialsOf(stored).flatMap(({ value }) => readSealed(value)?.keyId ?? []);
  const keys = await rememberedKeys(sql)([...new Set(ids)]);
  const { url, method, headers, secret: secrets = [], ...rest } = stored;
  const request = { id: "1", body: "{}", timeoutMs: 1_000, url, method, headers, secrets, keys };
  const open = await openCredentials(new OpenedKeys(testVault), request);
  return {
    ...rest,
    url: open.url,
    method,
    headers: open.headers,
    ...(stored.secret === undefined ? {} : { secret: open.secrets }),
  };
}
