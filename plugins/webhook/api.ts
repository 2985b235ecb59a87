/**
 * Webhook: delivers documents to receivers that operators run, one POST each. Events, audit records and other documents share the settings
 * and the meaning of answers.
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
   * Resolves when the receiver has answered 2xx. Rejects with `PermanentDeliveryError` for documents that it will never take, and with
   * another error when a later attempt may succeed; messages have no secrets.
   */
  post(body: Uint8Array, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

export interface WebhookOptions {
  /** A label of metrics: `notify`, `audit`. */
  readonly purpose: string
  /** Posts under way at once. */
  readonly concurrency: number
}

export interface WebhookService {
  /** Problems in the settings of an enabled receiver. Reads no files and resolves no names. */
  problems(settings: WebhookSettings): readonly SettingsProblem[]
  /** Scheme, host and path. Empty when it is not set. */
  endpoint(settings: WebhookSettings): string
  /** Connects with the first post. */
  connect(settings: WebhookSettings, options: WebhookOptions): Webhook
}

declare module 'svc/kernel' {
  interface Services {
    webhook: WebhookService
  }
}
