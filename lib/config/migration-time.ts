/**
 * How long a deployment waits for its migrations. CloudFormation allows an hour and then reports no
 * reason. So the function gives up before, and reports the remaining work.
 */
export const migrationTime = { deploymentMinutes: 60, givesUpAfterMinutes: 55, pauseSeconds: 10 } as const;
