/** What the kinds have in common: fields, and lists that are cut into calls. */
import { CallFailure, failureOf, type PurgeCall, type PurgeWebhookContext } from 'svc/plugins/purge/api'
import { Type } from 'typebox'

export const scheme = Type.Enum(['https', 'http', 'both'], {
  default: 'https',
  description: 'Of the URLs that the cache in front has copies of.',
})

export const secret = (description: string) =>
  Type.String({
    secret: true,
    minLength: 1,
    maxLength: 4096,
    pattern: '^[\\x21-\\x7e]+$',
    errorMessage: 'must be letters, digits and signs of ASCII, without spaces',
    description,
  })

export const zone = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: 64,
    pattern: '^[A-Za-z0-9_-]+$',
    errorMessage: 'must be letters, digits, underscores and hyphens',
    description,
  })

/** A tag as headers and lists can have it; the same in answers and in purges. */
export const tagOf = (tag: string): string => tag.toWellFormed().replaceAll(/[^\x21-\x7e]|,/gu, encodeURIComponent)

export function inGroups<T>(items: readonly T[], size: number): T[][] {
  const groups: T[][] = []
  for (let start = 0; start < items.length; start += size) groups.push(items.slice(start, start + size))
  return groups
}

/** A call that cannot be made: it is given up with what to set. */
export const impossible = (problem: string): PurgeCall => ({ summary: problem, problem, data: undefined })

export interface ApiRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** A POST. Rejects where the answer is a failure; the answer's words are not repeated, as they may have what was sent. */
export async function post(
  { request, clock }: Pick<PurgeWebhookContext, 'request' | 'clock'>,
  { url, headers, body }: ApiRequest,
  signal: AbortSignal,
): Promise<Buffer> {
  const answer = await request({ url, method: 'POST', headers: { 'user-agent': 'svc', ...headers }, body, signal })
  const { host } = new URL(url)
  const failure = failureOf(host, answer, clock.now())
  if (failure === undefined) return answer.body
  const { status, retryAfterMs } = failure
  if (status === 401 || status === 403)
    throw new CallFailure(`${failure.message}: the credentials are wrong or lack the right to purge`, {
      status,
      isPermanent: true,
    })
  throw retryAfterMs > 0 || status !== 429 ? failure : new CallFailure(failure.message, { status, retryAfterMs: 1000 })
}
