/**
 * Renewal information of an authority (ARI, RFC 9773): it may suggest an earlier renewal, for example when it has to revoke certificates.
 * Requested if the directory names the resource; without information the lifetime decides.
 */
import { X509Certificate } from 'node:crypto'
import type { Ports } from 'svc/kernel'
import type { AcmeState } from 'svc/plugins/certificates/api'
import type { HttpClient } from 'svc/plugins/http-client/api'
import { parseRetryAfter } from './authority.ts'

const minuteMs = 60_000
const askAgainMsMin = minuteMs
const askAgainMsMax = 24 * 60 * minuteMs
const askAgainMsDefault = 6 * 60 * minuteMs
const answerBytesMax = 64 * 1024

type Window = NonNullable<AcmeState['window']>

export interface RenewalInformation {
  /** How the authority names a certificate; undefined where it makes no suggestions, or cannot be asked. */
  idOf(chain: string): Promise<string | undefined>
  /** The window, and the time in it that was chosen for this certificate; undefined if there is no information. */
  ask(chain: string, known: Window | undefined): Promise<Window | undefined>
}

export function createRenewalInformation(
  directory: string,
  http: HttpClient,
  { clock, random }: Ports,
): RenewalInformation {
  let resource: { readonly url: string | undefined; readonly untilMs: number } | undefined

  async function resourceUrl(): Promise<string | undefined> {
    if (resource !== undefined && clock.now() < resource.untilMs) return resource.url
    const found = (await getJson(directory))?.json as { renewalInfo?: unknown } | undefined
    const url = found?.renewalInfo
    const isUsable = typeof url === 'string' && url.startsWith('https:')
    resource = {
      url: isUsable ? url : undefined,
      untilMs: clock.now() + (found === undefined ? askAgainMsMin : askAgainMsMax),
    }
    return resource.url
  }

  async function getJson(url: string) {
    const { status, headers, body } = await http.request({ url, answerBytesMax })
    if (status !== 200) return undefined
    return { json: parse(body.toString('utf8')), retryAfter: String(headers['retry-after'] ?? '') }
  }

  return {
    async idOf(chain) {
      return (await resourceUrl()) === undefined ? undefined : certificateId(chain)
    },

    async ask(chain, known) {
      const url = await resourceUrl()
      const id = url === undefined ? undefined : await certificateId(chain)
      if (id === undefined) return undefined
      const answer = await getJson(`${url}/${id}`)
      const { start, end } = ((answer?.json as Suggestion)?.suggestedWindow ?? {}) as { start?: string; end?: string }
      const [startMs, endMs] = [Date.parse(String(start)), Date.parse(String(end))]
      // A window that is none is as good as no answer (RFC 9773, 4.2).
      if (Number.isNaN(startMs) || Number.isNaN(endMs) || endMs <= startMs) return undefined
      const waitMs = parseRetryAfter(answer!.retryAfter, clock.now()) || askAgainMsDefault
      const askAgainMs = clock.now() + Math.min(Math.max(waitMs, askAgainMsMin), askAgainMsMax)
      const isSame = known?.startMs === startMs && known.endMs === endMs
      const renewMs = isSame ? known.renewMs : Math.floor(startMs + random.float() * (endMs - startMs))
      return { startMs, endMs, askAgainMs, renewMs }
    },
  }
}

type Suggestion = { readonly suggestedWindow?: unknown } | undefined

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // As if nothing had been told.
    return undefined
  }
}

/** RFC 9773, 4.1: key identifier of the authority and serial number, with the bytes that DER has of it. */
export async function certificateId(chain: string): Promise<string | undefined> {
  const { AuthorityKeyIdentifierExtension, X509Certificate: Parsed } = await import('@peculiar/x509')
  const parsed = new Parsed(new X509Certificate(chain).raw)
  const keyId = parsed.getExtension(AuthorityKeyIdentifierExtension)?.keyId
  if (keyId === undefined) return undefined
  const serial = Buffer.from(
    parsed.serialNumber.padStart(parsed.serialNumber.length + (parsed.serialNumber.length % 2), '0'),
    'hex',
  )
  const der = serial[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), serial]) : serial
  return `${Buffer.from(keyId, 'hex').toString('base64url')}.${der.toString('base64url')}`
}
