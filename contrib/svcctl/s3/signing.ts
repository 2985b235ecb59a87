/**
 * Signature Version 4 for S3: signed headers, presigned URLs and POST policies. S3 does not normalize paths and encodes them once.
 * Source: AWS "Create a signed AWS API request", "Authenticating requests: using the Authorization header".
 */
import { createHmac, hash } from 'node:crypto'

export interface SigningKeys {
  readonly accessKey: string
  readonly secretKey: string
  readonly region: string
}

export interface RequestToSign {
  readonly method: string
  /** The host as in the header `host`. */
  readonly host: string
  /** Percent-encoded, from the first slash. */
  readonly path: string
  /** Percent-encoded, without `?`. */
  readonly query: string
  /** All of these are signed. Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
  /** Its SHA-256 is signed. Default: no payload. */
  readonly payload?: Uint8Array | 'UNSIGNED-PAYLOAD'
  readonly nowMs: number
}

export interface RequestToPresign {
  readonly method: string
  /** Absolute, without signature parameters. */
  readonly url: string
  readonly expiresSeconds: number
  /** Whoever uses the URL must send the same headers. Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
  readonly nowMs: number
}

export interface Signer {
  /** The given headers, with `host`, `x-amz-date`, `x-amz-content-sha256` and `authorization`. */
  signRequest(request: RequestToSign): Record<string, string>
  /** Throws RangeError for a bad expiry or URL. */
  presignUrl(request: RequestToPresign): string
  /** The form fields that sign a POST policy (JSON text). The policy must allow these fields in its conditions. */
  signPolicy(policy: string, nowMs: number): Record<string, string>
}

const algorithm = 'AWS4-HMAC-SHA256'
const unsignedPayload = 'UNSIGNED-PAYLOAD'
const expiresSecondsMax = 604_800
const noPayload = new Uint8Array(0)

export function createSigner({ accessKey, secretKey, region }: SigningKeys): Signer {
  let keyDate = ''
  let key: Buffer

  /** The signing key of one day. */
  function keyOf(date: string): Buffer {
    if (date !== keyDate) {
      key = Buffer.from(`AWS4${secretKey}`, 'utf8')
      for (const step of [date, region, 's3', 'aws4_request']) key = createHmac('sha256', key).update(step).digest()
      keyDate = date
    }
    return key
  }

  const signText = (date: string, text: string): string => createHmac('sha256', keyOf(date)).update(text).digest('hex')

  /** `canonical` is Latin-1: each character is one byte of the request. */
  function signCanonical({ timestamp, date, scope }: SigningTime, canonical: string): string {
    const digest = hash('sha256', Buffer.from(canonical, 'latin1'), 'hex')
    return signText(date, `${algorithm}\n${timestamp}\n${scope}\n${digest}`)
  }

  function timeOf(nowMs: number): SigningTime {
    const timestamp = `${new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
    const date = timestamp.slice(0, 8)
    return { timestamp, date, scope: `${date}/${region}/s3/aws4_request` }
  }

  return {
    signRequest({ method, host, path, query, headers: given, payload = noPayload, nowMs }) {
      const time = timeOf(nowMs)
      const digest = payload === unsignedPayload ? payload : hash('sha256', payload, 'hex')
      const headers: Record<string, string> = {
        ...given,
        host,
        'x-amz-content-sha256': digest,
        'x-amz-date': time.timestamp,
      }
      const { headerLines, names } = describeHeaders(headers)
      const signature = signCanonical(
        time,
        `${method}\n${path}\n${canonicalQuery(query)}\n${headerLines}\n${names}\n${digest}`,
      )
      headers.authorization = `${algorithm} Credential=${accessKey}/${time.scope}, SignedHeaders=${names}, Signature=${signature}`
      return headers
    },

    presignUrl({ method, url, expiresSeconds, headers, nowMs }) {
      if (!Number.isInteger(expiresSeconds) || expiresSeconds < 1 || expiresSeconds > expiresSecondsMax) {
        throw new RangeError(`a presigned URL is good for 1 to ${expiresSecondsMax} seconds`)
      }
      // The class URL would resolve `..`, which may be part of a key.
      const match = /^(https?:)\/\/([^/?#@]+)(\/[^?#]*)?(?:\?([^#]*))?$/.exec(url)
      if (match === null) throw new RangeError('the URL to presign must be absolute, without user and fragment')
      const [, scheme, authority, path = '/', givenQuery = ''] = match as string[]
      const host = authority!.toLowerCase().replace(scheme === 'https:' ? /:443$/ : /:80$/, '')
      const time = timeOf(nowMs)
      const { headerLines, names } = describeHeaders({ ...headers, host })
      const query = [
        ...(givenQuery === '' ? [] : [givenQuery]),
        `X-Amz-Algorithm=${algorithm}`,
        `X-Amz-Credential=${encodeText(`${accessKey}/${time.scope}`)}`,
        `X-Amz-Date=${time.timestamp}`,
        `X-Amz-Expires=${expiresSeconds}`,
        `X-Amz-SignedHeaders=${encodeText(names)}`,
      ].join('&')
      const signature = signCanonical(
        time,
        `${method}\n${path}\n${canonicalQuery(query)}\n${headerLines}\n${names}\n${unsignedPayload}`,
      )
      return `${scheme}//${host}${path}?${query}&X-Amz-Signature=${signature}`
    },

    signPolicy(policy, nowMs) {
      const { timestamp, date, scope } = timeOf(nowMs)
      const encoded = Buffer.from(policy, 'utf8').toString('base64')
      return {
        policy: encoded,
        'x-amz-algorithm': algorithm,
        'x-amz-credential': `${accessKey}/${scope}`,
        'x-amz-date': timestamp,
        'x-amz-signature': signText(date, encoded),
      }
    },
  }
}

interface SigningTime {
  /** `20250830T123600Z` */
  readonly timestamp: string
  /** `20250830` */
  readonly date: string
  /** `20250830/us-east-1/s3/aws4_request` */
  readonly scope: string
}

function describeHeaders(headers: Readonly<Record<string, string>>) {
  const names = Object.keys(headers).sort()
  return {
    headerLines: names.map(name => `${name}:${foldBlanks(headers[name]!)}\n`).join(''),
    names: names.join(';'),
  }
}

const foldBlanks = (value: string): string => value.replace(/[ \t]+/g, ' ').replace(/^ | $/g, '')

/** Sorted by encoded name, then by encoded value. */
function canonicalQuery(query: string): string {
  if (query === '') return ''
  return query
    .split('&')
    .filter(pair => pair !== '')
    .map(pair => {
      const at = pair.indexOf('=')
      return at === -1 ? { name: pair, value: '' } : { name: pair.slice(0, at), value: pair.slice(at + 1) }
    })
    .sort((a, b) => compare(a.name, b.name) || compare(a.value, b.value))
    .map(({ name, value }) => `${name}=${value}`)
    .join('&')
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const reserved = /[!'()*]/g
const escapeCharacter = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

/** Percent-encoding as Signature Version 4 defines it. `text` must be well-formed Unicode. */
export const encodeText = (text: string): string => encodeURIComponent(text).replace(reserved, escapeCharacter)
