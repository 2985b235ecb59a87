/** Thrown by providers for failures that a retry cannot cure: wrong credentials, an unknown zone. Nothing was changed. */
export class PermanentDnsError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PermanentDnsError'
  }
}
