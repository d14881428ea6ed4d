const topic = "arn:aws:sns:us-east-1:000000000000:evil";

/** Forms for the emulator's SNS, which made a topic, bound it to this queue and sent a message through it. */
export const snsForms = (queue: string, message: string): readonly Record<string, string>[] => [
  { Action: "CreateTopic", Name: "evil" },
  {
    Action: "Subscribe",
    TopicArn: topic,
    Protocol: "sqs",
    Endpoint: `arn:aws:sqs:us-east-1:000000000000:${queue}`,
    "Attributes.entry.1.key": "RawMessageDelivery",
    "Attributes.entry.1.value": "true",
  },
  { Action: "Publish", TopicArn: topic, Message: message },
];
