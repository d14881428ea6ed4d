// Written by `npm run settings` from infra/settings/keys.ts; a test compares the two.

/** Keys of your own. */
export interface KeysOptions {
  /**
   * The key of KMS that encrypts the database that is made here, and its snapshots. Set it with the
   * first deployment: a later change would replace the database by an empty one. Default: the key
   * aws/rds.
   */
  readonly databaseKeyArn?: string | undefined;
  /**
   * The key of KMS that encrypts the messages of the queues that are made here. Its policy has to
   * admit the EventBridge rules and topics that send commands. Default: a key of SQS.
   */
  readonly queueKeyArn?: string | undefined;
  /**
   * The key of KMS that encrypts the secrets that are made here, and the one that
   * `databaseSecretArn` names. Default: the key aws/secretsmanager.
   */
  readonly secretKeyArn?: string | undefined;
  /**
   * The key of KMS that encrypts the logs of the functions and the gateway. Its policy has to admit
   * CloudWatch Logs. Default: a key of CloudWatch Logs.
   */
  readonly logKeyArn?: string | undefined;
}
