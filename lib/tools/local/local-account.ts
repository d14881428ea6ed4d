/** The account and region of everything local, and the credentials of the functions. */
export const localAccount = "000000000000";
export const localRegion = "us-east-1";
export const functionsKeyId = "carillon-functions";

export function localQueueArn(name: string): string {
  return `arn:aws:sqs:${localRegion}:${localAccount}:${name}`;
}
