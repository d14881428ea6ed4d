import { Duration } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import { CarillonFunction } from "./carillon-function.ts";
import type { FunctionCode } from "./function-code.ts";

export interface WebhookSenderProps {
  /** Public networks that webhooks must not reach. */
  readonly denyNetworks: readonly string[];
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

const TIMEOUT = Duration.seconds(functionTimeoutSeconds.webhook);

/**
 * The only part that sends to the internet. It is outside of the network, so it can reach nothing
 * private, and its role may only write its log: an attacker who takes it over gains nothing.
 */
export class WebhookSender extends Construct {
  readonly fn: CarillonFunction;
  private readonly denyNetworks: readonly string[];

  constructor(scope: Construct, id: string, props: WebhookSenderProps) {
    super(scope, id);
    this.fn = new CarillonFunction(this, "Function", {
      entry: "webhook",
      code: props.code,
      description: "Carillon: sends webhooks",
      timeout: TIMEOUT,
      // The function mostly waits; with less memory, the TLS handshake takes long.
      memoryMiB: 256,
      logRetention: props.logRetention,
    });
    this.denyNetworks = props.denyNetworks;
    this.tell(this.fn);
  }

  /** Tells a function the denied networks, so that it can refuse them early. */
  tell(fn: LambdaFunction): void {
    if (this.denyNetworks.length > 0) fn.addEnvironment("CARILLON_WEBHOOK_DENY", this.denyNetworks.join(","));
  }

  /** Grants a function the right to send webhooks, and sets the variable with the sender's name. */
  admitSender(fn: LambdaFunction): void {
    fn.addEnvironment("WEBHOOK_FUNCTION", this.fn.functionName);
    fn.addToRolePolicy(
      new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: [this.fn.functionArn] }),
    );
  }
}
