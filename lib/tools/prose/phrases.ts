/**
 * Wordings that make a sentence a riddle for a reader who is tired and on call. Add one whenever a
 * review finds another. The subject of a sentence is a part of the system (the claim, the tick, the
 * caller), so sentences begin with it and not with a relative clause.
 */
export const openings: RegExp =
  /^(Of|What|Who|Whom|Whose|Whoever|So many|So long|Nobody|Somebody|Heard|Told|Asked|Said|As before|As in \d|Those that|None of)\b/;

export const phrases: RegExp = new RegExp(
  [
    "what stands",
    "comes to the same",
    "(?:is|are|was|were) told",
    "is heard",
    "whom",
    "whose turn",
    "goes? along",
    "in vain",
    "anew",
    "nobody.s",
    "no one.s",
    "somebody",
    "whoever",
    "wants? it",
    "is asked (?:for|of|whether)",
    "by itself alone",
    "as it was asked",
    "what (?:is|was|has|had) (?:been )?(?:there|asked|left|due|owed)",
    "comes? to (?:it|them|nothing)",
    "keeps? house",
  ]
    .map((phrase) => `\\b${phrase}\\b`)
    .join("|"),
  "i",
);
