/** The name of the document's element with the name of the installation. */
export const pageNameElement = "carillon-name";

/** The names that an installation may have. The bar of a desk has room for them, that of a phone for half. */
export const pageNamePattern = /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{P}\p{S} ]{0,38}[\p{L}\p{N}\p{P}\p{S}])?$/u;
export const pageNameForm =
  "it takes a name of up to 40 letters, digits, punctuation marks and blanks that begins with a letter or digit";
