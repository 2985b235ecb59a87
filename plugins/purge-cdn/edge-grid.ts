/** Signatures of requests to Akamai's APIs (EdgeGrid, EG1-HMAC-SHA256): https://techdocs.akamai.com/developer/docs/authenticate-with-edgegrid */
import { createHash, createHmac } from 'node:crypto'

/** So many bytes of the body are signed. */
const signedBytesMax = 131_072

export interface EdgeGridKeys {
  readonly clientToken: string
  readonly clientSecret: string
  readonly accessToken: string
}

export interface EdgeGridRequest {
  readonly method: string
  readonly url: string
  readonly body: string
  readonly nowMs: number
  /** Never used twice. */
  readonly nonce: string
}

/** Value of `Authorization`. */
export function signEdgeGrid(keys: EdgeGridKeys, { method, url, body, nowMs, nonce }: EdgeGridRequest): string {
  const { clientToken, clientSecret, accessToken } = keys
  const { protocol, host, pathname, search } = new URL(url)
  const timestamp = `${new Date(nowMs).toISOString().slice(0, 19).replaceAll('-', '')}+0000`
  const unsigned = `EG1-HMAC-SHA256 client_token=${clientToken};access_token=${accessToken};timestamp=${timestamp};nonce=${nonce};`
  const bytes = Buffer.from(body).subarray(0, signedBytesMax)
  const digest = method === 'POST' && bytes.length > 0 ? createHash('sha256').update(bytes).digest('base64') : ''
  const text = [method, protocol.slice(0, -1), host, `${pathname}${search}`, '', digest, unsigned].join('\t')
  const key = hmac(clientSecret, timestamp)
  return `${unsigned}signature=${hmac(key, text)}`
}

const hmac = (key: string, text: string): string => createHmac('sha256', key).update(text).digest('base64')
