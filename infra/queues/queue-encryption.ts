import { Stack } from "aws-cdk-lib";
import { type IGrantable, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { CfnQueue, Queue, QueueEncryption, type QueueProps } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";

export interface EncryptedQueueProps extends Omit<QueueProps, "encryption" | "encryptionMasterKey"> {
  /** A key of the deployment's own account. Default: one of SQS. */
  readonly key: IKey | undefined;
}

/**
 * A queue, closed to requests without TLS. The CDK is not told of a key, because it would grant each
 * sender `kms:Encrypt` and `kms:ReEncrypt*` as well; `mayUse` grants what SQS needs.
 */
export function encryptedQueue(scope: Construct, id: string, { key, ...props }: EncryptedQueueProps): Queue {
  const encryption = key === undefined ? QueueEncryption.SQS_MANAGED : QueueEncryption.UNENCRYPTED;
  const queue = new Queue(scope, id, { ...props, encryption, enforceSSL: true });
  const resource = queue.node.defaultChild;
  if (key !== undefined && resource instanceof CfnQueue) {
    resource.sqsManagedSseEnabled = false;
    resource.kmsMasterKeyId = key.keyArn;
  }
  return queue;
}

const actions = { send: ["kms:GenerateDataKey", "kms:Decrypt"], receive: ["kms:Decrypt"] } as const;

/** Grants the right to use the key of a queue through SQS. */
export function mayUse(
  key: IKey | undefined,
  { grantPrincipal }: IGrantable,
  how: keyof typeof actions,
): void {
  if (key === undefined) return;
  const { region, urlSuffix } = Stack.of(key);
  grantPrincipal.addToPrincipalPolicy(
    new PolicyStatement({
      actions: [...actions[how]],
      resources: [key.keyArn],
      conditions: { StringEquals: { "kms:ViaService": `sqs.${region}.${urlSuffix}` } },
    }),
  );
}
