/** Thrown by providers for what they will never do: wrong credentials, an unknown zone. Nothing was changed. */
export class PermanentDnsError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PermanentDnsError'
  }
}
