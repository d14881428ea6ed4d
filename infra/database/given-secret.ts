import type { IKey } from "aws-cdk-lib/aws-kms";
import { type ISecret, Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { Construct } from "constructs";

/** The secret that `databaseSecretArn` names. Its readers may use its key, too. */
export function givenSecret(scope: Construct, secretCompleteArn: string, key: IKey | undefined): ISecret {
  return Secret.fromSecretAttributes(scope, "MasterSecret", {
    secretCompleteArn,
    ...(key && { encryptionKey: key }),
  });
}
