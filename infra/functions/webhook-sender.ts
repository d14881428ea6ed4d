import { Duration } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import { CarillonFunction } from "./carillon-function.ts";
import type { FunctionCode } from "./function-code.ts";

export interface WebhookSenderProps {
  /** Public networks that it does not send to. */
  readonly denyNetworks: readonly string[];
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

const TIMEOUT = Duration.seconds(functionTimeoutSeconds.webhook);

/**
 * The one way out to the internet. It stands outside the network, so that there is nothing private for it to reach, and its role may
 * write its log and nothing else, so that whoever takes it over has gained nothing.
 */
export class WebhookSender extends Construct {
  private readonly fn: CarillonFunction;
  private readonly denyNetworks: readonly string[];

  constructor(scope: Construct, id: string, props: WebhookSenderProps) {
    super(scope, id);
    this.fn = new CarillonFunction(this, "Function", {
      entry: "webhook",
      code: props.code,
      description: "Carillon: sends webhooks",
      timeout: TIMEOUT,
      // It waits most of the time; with less, the handshake of TLS takes long.
      memoryMiB: 256,
      logRetention: props.logRetention,
    });
    this.denyNetworks = props.denyNetworks;
    this.tell(this.fn);
  }

  /** Lets a function know what is never sent. */
  tell(fn: LambdaFunction): void {
    if (this.denyNetworks.length > 0) fn.addEnvironment("CARILLON_WEBHOOK_DENY", this.denyNetworks.join(","));
  }

  /** Lets a function send webhooks, and tells it how. */
  admitSender(fn: LambdaFunction): void {
    fn.addEnvironment("WEBHOOK_FUNCTION", this.fn.functionName);
    fn.addToRolePolicy(
      new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: [this.fn.functionArn] }),
    );
  }
}
