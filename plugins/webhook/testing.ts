/** For tests of what posts to webhooks. */
import type { OutboundService } from 'svc/plugins/outbound/api'
import type { WebhookService } from './api.ts'
import { createWebhookService } from './service.ts'

export function createTestWebhooks(outbound: OutboundService): WebhookService {
  return createWebhookService(outbound)
}
