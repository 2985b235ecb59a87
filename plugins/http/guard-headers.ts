/**
 * Headers of whatever the console listener answers that is no page: refusals, files, states. A browser that is led to one shows text, runs and
 * loads nothing, and puts it into no frame. Pages and answers of the Admin API have their own, which are no weaker.
 */
import type { ListenerName } from './api.ts'

const guarding: Readonly<Record<string, string>> = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
}
const none: Readonly<Record<string, string>> = {}

export const guardHeadersOf = (listener: ListenerName): Readonly<Record<string, string>> =>
  listener === 'console' ? guarding : none
