import type { AuditMessage, AuditSinkKind } from 'svc/plugins/audit/api'
import { type Webhook, type WebhookService, WebhookSettings } from './api.ts'

/** Posts under way to one receiver: one after the other would be as slow as the way there is long. */
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

/** Begins no post after one has failed, and settles when none is under way. */
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
