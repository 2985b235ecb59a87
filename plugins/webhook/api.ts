/**
 * Webhook: delivering documents to receivers that operators run, one POST each. What an answer means and which settings there are
 * is the same for events, audit records and whatever else is told to a URL of an operator's own.
 */
import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'

/** The keys of a subsystem. */
export const WebhookSettings = Type.Object({
  endpoint: Type.String({
    default: '',
    maxLength: 2048,
    destination: true,
    secretQuery: true,
    description:
      'URL that each document is posted to, with `http://` or `https://`. Redirects are not followed. Its query is masked.',
  }),
  auth_token: Type.String({
    default: '',
    secret: true,
    maxLength: 8192,
    description:
      'Sent as `Authorization: Bearer <token>`. With a space in it, it is sent as it is: `Basic dXNlcjpwYXNz`.',
  }),
  client_cert: Type.String({
    default: '',
    maxLength: 4096,
    description: 'Absolute path of a PEM file with the certificate that the server shows to the receiver.',
  }),
  client_key: Type.String({
    default: '',
    maxLength: 4096,
    description: 'Absolute path of a PEM file with the key of `client_cert`.',
  }),
  ca_cert: Type.String({
    default: '',
    maxLength: 4096,
    destination: true,
    description:
      'Absolute path of a PEM file with the authorities that the receiver is trusted by. Empty: the public ones.',
  }),
  tls_skip_verify: Type.Boolean({
    default: false,
    destination: true,
    description: 'Take any certificate of the receiver. Whoever is in between can read and change what is sent.',
  }),
  timeout: Type.Integer({
    default: 5000,
    minimum: 10,
    maximum: 60_000,
    format: 'duration',
    description: 'How long the receiver may take to answer, the connection included.',
  }),
})

export type WebhookSettings = Static<typeof WebhookSettings>

export interface Webhook {
  /**
   * Resolves when the receiver has answered 2xx. Rejects with `PermanentDeliveryError` for what it will never take, and with
   * another error for what is worth another attempt; messages have no secret.
   */
  post(body: Uint8Array, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export interface WebhookOptions {
  /** A label of metrics: `notify`, `audit`. */
  readonly purpose: string
  /** How many posts may be under way at once. */
  readonly concurrency: number
}

export interface WebhookService {
  /** What is wrong with settings of a receiver that is in use. Looks at no file and no name. */
  problems(settings: WebhookSettings): readonly SettingsProblem[]
  /** Scheme, host and path. Empty where there is none. */
  endpoint(settings: WebhookSettings): string
  /** Opens nothing until the first post. */
  connect(settings: WebhookSettings, options: WebhookOptions): Webhook
}

declare module 'svc/kernel' {
  interface Services {
    webhook: WebhookService
  }
}
