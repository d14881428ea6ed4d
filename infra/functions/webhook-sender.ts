import { Duration, RemovalPolicy } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { functionTimeoutSeconds, mayComeBack } from "../../lib/config/function-limits.ts";
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
 * private. It alone may use the key that opens the credentials of webhooks: they are in clear from
 * here to the receiver only.
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
      mayComeBack: mayComeBack.has("webhook"),
      logRetention: props.logRetention,
    });
    const key = new Key(this, "Key", {
      description: "Carillon: opens the credentials of webhooks",
      enableKeyRotation: true,
      // A backup of the database is worth little without it. A deployment that fails when it makes the key
      // has sealed nothing.
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
    });
    this.fn.addEnvironment("WEBHOOK_KEY", key.keyArn);
    this.fn.addToRolePolicy(
      new PolicyStatement({
        actions: ["kms:Decrypt", "kms:GenerateDataKeyPairWithoutPlaintext"],
        resources: [key.keyArn],
        conditions: { StringEquals: { "kms:EncryptionContext:carillon": "webhook credentials" } },
      }),
    );
    this.denyNetworks = props.denyNetworks;
    this.tell(this.fn);
  }

  /** Tells a function the denied networks, so that it can refuse them early. */
  tell(fn: LambdaFunction): void {
    if (this.denyNetworks.length > 0) fn.addEnvironment("CARILLON_WEBHOOK_DENY", this.denyNetworks.join(","));
  }

  /**
   * Grants a function the right to invoke the sender: to send a webhook, or to have a key made.
   * Sets the variable with the sender's name.
   */
  admitSender(fn: LambdaFunction): void {
    fn.addEnvironment("WEBHOOK_FUNCTION", this.fn.functionName);
    fn.addToRolePolicy(
      new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: [this.fn.functionArn] }),
    );
  }
}
