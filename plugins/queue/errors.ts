/** What a destination throws for entries that it will never take: they become dead letters. The message is shown: no secret in it. */
export class PermanentDeliveryError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PermanentDeliveryError'
  }
}

/** By name: a plugin may have brought another copy of this package, whose class is another one. */
export function isPermanent(error: unknown): boolean {
  return error instanceof Error && error.name === 'PermanentDeliveryError'
}

const sentenceLengthMax = 500

/** The message of an error as a sentence of bounded length. */
export function sentenceOf(error: unknown): string {
  const text = error instanceof Error && error.message !== '' ? error.message : 'The delivery failed.'
  return text.length <= sentenceLengthMax ? text : `${text.slice(0, sentenceLengthMax - 1).toWellFormed()}…`
}
