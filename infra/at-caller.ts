/**
 * Makes a part of a construct, or what one of its methods gives. An error about what the app passed in begins at the app's own line;
 * errors of other classes, such as those of the CDK, keep the frames that explain them.
 */
export function atCaller<Made>(
  called: (abstract new (...args: never[]) => unknown) | ((...args: never[]) => unknown),
  make: () => Made,
): Made {
  try {
    return make();
  } catch (error) {
    if (error instanceof Error && error.constructor === Error) Error.captureStackTrace(error, called);
    throw error;
  }
}
