/**
 * How long a deployment waits for its migrations. CloudFormation allows an hour and then knows nothing to say; the function gives up before, and
 * says what is left.
 */
export const migrationTime = { deploymentMinutes: 60, givesUpAfterMinutes: 55, pauseSeconds: 10 } as const;
