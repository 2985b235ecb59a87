import type { AuditMessage, AuditSinkKind } from 'svc/plugins/audit/api'
import { type Webhook, type WebhookService, WebhookSettings } from './api.ts'

/** Posts under way to one receiver, because each takes a round trip. */
const concurrency = 16
const batchMax = 64

export function createAuditTargets(webhooks: WebhookService): AuditSinkKind<typeof WebhookSettings> {
  return {
    description: 'Audit records as JSON to a URL, one POST for each.',
    settings: WebhookSettings,
    validate: settings => webhooks.problems(settings),
    endpoint: settings => webhooks.endpoint(settings),
    connect(settings) {
      const webhook = webhooks.connect(settings, { purpose: 'audit', concurrency })
      return {
        batchMax,
        send: (records, signal) => postAll(webhook, records, signal),
        close: () => webhook.close(),
      }
    },
  }
}

/** Starts no post after a failure; settles when none is under way. */
async function postAll(webhook: Webhook, records: readonly AuditMessage[], signal: AbortSignal): Promise<void> {
  let next = 0
  let failure: { readonly error: unknown } | undefined
  const postNext = async () => {
    while (next < records.length && failure === undefined) {
      try {
        await webhook.post(records[next++]!.body, signal)
      } catch (error) {
        failure ??= { error }
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, records.length) }, postNext))
  if (failure !== undefined) throw failure.error
}
