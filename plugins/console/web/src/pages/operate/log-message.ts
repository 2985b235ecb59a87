/** What a line of the log says, and why: each is a sentence that may end with its stop, as may the causes within the reason. */
export const messageOf = (message: string, error: unknown): string =>
  error === undefined ? message : `${message}: ${error}`.replaceAll('.: ', ': ')
