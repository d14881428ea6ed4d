/** The account and region that everything local pretends to be in, and the credentials by which our functions are known. */
export const localAccount = "000000000000";
export const localRegion = "us-east-1";
export const functionsKeyId = "carillon-functions";

export function localQueueArn(name: string): string {
  return `arn:aws:sqs:${localRegion}:${localAccount}:${name}`;
}
