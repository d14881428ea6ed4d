import { Duration } from "aws-cdk-lib";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { functionTimeoutSeconds } from "../lib/config/function-limits.ts";
import { CarillonFunction } from "./carillon-function.ts";
import type { Database } from "./database.ts";
import type { FunctionCode } from "./function-code.ts";
import { HttpGateway } from "./http-gateway.ts";
import type { JobQueue } from "./job-queue.ts";
import type { Network } from "./network.ts";
import { RestGateway } from "./rest-gateway.ts";
import type { ApiSettings } from "./settings/api.ts";
import type { TargetAllowList } from "./target-allow-list.ts";
import type { WebhookSender } from "./webhook-sender.ts";

export interface ApiProps {
  readonly network: Network;
  readonly database: Database;
  readonly queues: readonly JobQueue[];
  readonly targets: TargetAllowList;
  readonly webhooks: WebhookSender;
  readonly settings: ApiSettings;
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

/** An HTTP API gives up after 30 s, where the function's own error, a second earlier, says more; a REST API after 29. */
const TIMEOUT = Duration.seconds(functionTimeoutSeconds.api);

/** The one thing that is public: HTTPS, every path to one function, which answers 401 to whoever has no token. */
export class Api extends Construct {
  readonly url: string;
  /** Requests that were answered 5xx, in a minute. */
  readonly serverErrors: IMetric;

  constructor(scope: Construct, id: string, props: ApiProps) {
    super(scope, id);
    const { settings, logRetention } = props;

    const fn = new CarillonFunction(this, "Function", {
      entry: "api",
      code: props.code,
      description: "Carillon: the HTTP API",
      network: props.network,
      timeout: TIMEOUT,
      memoryMiB: 1_024,
      logRetention,
    });
    props.database.admit(fn, "carillon_api");
    for (const queue of props.queues) queue.admitSender(fn);
    props.targets.tell(fn);
    props.webhooks.tell(fn);

    const gateway =
      settings.apiKind === "rest"
        ? new RestGateway(this, "Rest", { fn, settings, logRetention })
        : new HttpGateway(this, "Http", { fn, settings, logRetention });
    this.url = gateway.url;
    this.serverErrors = gateway.serverErrors;
  }
}
