/** Thrown by a destination that will never take these entries: they become dead letters. Operators see the message: no secrets in it. */
export class PermanentDeliveryError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PermanentDeliveryError'
  }
}

/** Compares the name of the error, because a plugin may have its own copy of this package with another class. */
export function isPermanent(error: unknown): boolean {
  return error instanceof Error && error.name === 'PermanentDeliveryError'
}

const sentenceLengthMax = 500

/** The message of an error as a sentence of bounded length. */
export function sentenceOf(error: unknown): string {
  const text = error instanceof Error && error.message !== '' ? error.message : 'The delivery failed.'
  return text.length <= sentenceLengthMax ? text : `${text.slice(0, sentenceLengthMax - 1).toWellFormed()}…`
}
