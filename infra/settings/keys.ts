import { textOrToken } from "./shapes.ts";

function keyArn() {
  return textOrToken(
    /^arn:[\w-]+:kms:[\w-]+:\d{12}:key\/([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32})$/,
    "it takes the ARN of a key of KMS, not of an alias",
  ).optional();
}

/** Keys of your own. */
export const keysSettings = {
  /**
   * The key of KMS that encrypts the database that is made here, and its snapshots. Set it with the first
   * deployment: a later change would replace the database by an empty one. Default: the key aws/rds.
   */
  databaseKeyArn: keyArn(),
  /**
   * The key of KMS that encrypts the messages of the queues that are made here. Its policy has to
   * admit the EventBridge rules and topics that send commands. Default: a key of SQS.
   */
  queueKeyArn: keyArn(),
  /**
   * The key of KMS that encrypts the secrets that are made here, and the one that `databaseSecretArn`
   * names. Default: the key aws/secretsmanager.
   */
  secretKeyArn: keyArn(),
  /**
   * The key of KMS that encrypts the logs of the functions and the gateway. Its policy has to admit
   * CloudWatch Logs. Default: a key of CloudWatch Logs.
   */
  logKeyArn: keyArn(),
};
