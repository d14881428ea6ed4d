/** The environment of an API that sends nothing: no program listens at its queues. */
export const apiEnvironment = {
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "carillon",
  AWS_SECRET_ACCESS_KEY: "carillon",
  CARILLON_LOG: "silent",
  FAST_QUEUE_URL: "http://127.0.0.1:9/fast",
  SLOW_QUEUE_URL: "http://127.0.0.1:9/slow",
};
