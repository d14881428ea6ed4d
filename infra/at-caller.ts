/**
 * Makes a part of a construct. An error about what the app passed in begins at the app's own line;
 * errors of other classes, such as those of the CDK, keep the frames that explain them.
 */
export function atCaller<Made>(
  construct: abstract new (...args: never[]) => unknown,
  make: () => Made,
): Made {
  try {
    return make();
  } catch (error) {
    if (error instanceof Error && error.constructor === Error) Error.captureStackTrace(error, construct);
    throw error;
  }
}
