/** The name of a token, a role or an owner. Set apart, since a name may be a word of the sentence. */
export const Actor = ({ name }: { name: string | null }) => <span className="mono">{name}</span>;
