import { Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";

/** Where the archive is in S3. */
export interface ArchivePlace {
  readonly bucket: string;
  readonly prefix: string;
}

/** All objects that the archive writes. */
export function archivedObjects(scope: Construct, { bucket, prefix }: ArchivePlace): string {
  return Stack.of(scope).formatArn({
    service: "s3",
    region: "",
    account: "",
    resource: bucket,
    resourceName: `${prefix}jobs/*`,
  });
}

/** The archive's rights in S3: it puts its own objects, and cannot read, list or delete any. */
export function archiveStatement(scope: Construct, place: ArchivePlace): PolicyStatement {
  return new PolicyStatement({ actions: ["s3:PutObject"], resources: [archivedObjects(scope, place)] });
}
