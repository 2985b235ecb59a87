/** Where the sign-in leads on to. */

/** The path from an address of the sign-in, if it is one of our own: somebody else may have given that address to the visitor. */
export const wayBack = (from: string | undefined): string =>
  from !== undefined && /^\/(?![/\\])/.test(from) ? from : '/'
