/** What a line of the log says, and why: a sentence may end with its stop. */
export const messageOf = (message: string, error: unknown): string =>
  error === undefined ? message : `${message.replace(/\.$/, '')}: ${error}`
