import { assemble } from "../../functions/webhook.ts";
import type { Environment } from "../../lib/config/environment.ts";
import { silentLog } from "../../lib/log/log.ts";
import type { KeyVault } from "../../lib/sealing/key-vault.ts";
import { webhookEvent } from "../../lib/sealing/vault-request.ts";
import { startLambda } from "../../lib/tools/local/lambda/start-lambda.ts";
import { invocation } from "../api/http-event.ts";

/** The function that sends webhooks, behind Lambda's protocol, and the variables by which the API finds it. */
export async function vaultFunction(vault: KeyVault) {
  const sender = assemble({ AWS_REGION: "us-east-1", CARILLON_LOG: "silent" }, { vault });
  const asked: string[] = [];
  const functions = new Map([
    [
      "sender",
      (event: unknown) => {
        asked.push(JSON.stringify(event));
        return sender.handler(webhookEvent.parse(event), invocation);
      },
    ],
  ]);
  const server = await startLambda({ port: 0, functions, elsewhere: undefined, log: silentLog });
  const settings: Environment = { WEBHOOK_FUNCTION: "sender", AWS_ENDPOINT_URL_LAMBDA: server.url };
  return { settings, asked, stop: () => server.close(0) };
}
