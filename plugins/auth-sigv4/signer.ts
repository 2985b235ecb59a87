/** The client's part of Signature Version 4: pure functions for the CLI, for tests and for benchmarks. */
import type { KeyObject } from 'node:crypto'
import {
  algorithmName,
  canonicalQuery,
  canonicalRequest,
  foldSpaces,
  parseQuery,
  sha256Hex,
  stringToSign,
  unsignedPayload,
} from './canonical.ts'
import { type ChunkSigning, chunkStringToSign, trailerSignatureName, trailerStringToSign } from './chunked-decoder.ts'
import { formatAmzDate } from './date.ts'
import { encodeText } from './encoding.ts'
import { serviceName, terminator } from './presented-credential.ts'
import { deriveSigningKey, type SigningKey, signHex, signingSecret } from './signing-key.ts'
import { expiresSecondsMax } from './time.ts'

/** To be reused: the signing key of the day is cached with the object. */
export interface Signer {
  readonly accessKey: string
  /** The secret key, or the HMAC key of `"AWS4"` and the secret key. */
  readonly secret: string | KeyObject
  readonly region: string
  /** Whom the requests are for. Default `s3`, whose paths are signed as they are; of others they must have nothing to encode. */
  readonly service?: string
}

export interface RequestToSign {
  readonly method: string
  /** The value of the `host` header. */
  readonly host: string
  /** Percent-encoded, from the first slash. */
  readonly path: string
  /** Percent-encoded, without `?`. */
  readonly query?: string
  /** All of them are signed. Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
  /** The payload, or the value of `x-amz-content-sha256`: a digest or a form. Default: no payload. */
  readonly payload?: Uint8Array | string
  readonly nowMs: number
}

export interface SignedHead {
  /** The given headers, with `host`, `x-amz-date`, `x-amz-content-sha256` and `authorization`. */
  readonly headers: Readonly<Record<string, string>>
  /** For the chunks of a streaming body. */
  readonly signing: ChunkSigning
}

interface Today {
  readonly date: string
  readonly region: string
  readonly secret: string | KeyObject
  readonly key: SigningKey
}

const today = new WeakMap<Signer, Today>()

function keyOf(signer: Signer, date: string): SigningKey {
  const { region, secret, service } = signer
  const known = today.get(signer)
  if (known?.date === date && known.region === region && known.secret === secret) return known.key
  const key = deriveSigningKey(typeof secret === 'string' ? signingSecret(secret) : secret, date, region, service)
  today.set(signer, { date, region, secret, key })
  return key
}

const scopeOf = (signer: Signer, date: string): string =>
  `${date}/${signer.region}/${signer.service ?? serviceName}/${terminator}`

export function signRequest(signer: Signer, request: RequestToSign): SignedHead {
  const timestamp = formatAmzDate(request.nowMs)
  const date = timestamp.slice(0, 8)
  const scope = scopeOf(signer, date)
  const { payload = new Uint8Array(0) } = request
  const digest = typeof payload === 'string' ? payload : sha256Hex(payload)
  const headers: Record<string, string> = {
    ...request.headers,
    host: request.host,
    'x-amz-content-sha256': digest,
    'x-amz-date': timestamp,
  }
  const { headerBlock, signedHeaders } = headersToSign(headers)
  const canonical = canonicalRequest({
    method: request.method,
    path: request.path,
    query: canonicalQuery(parseQuery(request.query ?? '')),
    headerBlock,
    signedHeaders,
    payload: digest,
  })
  const key = keyOf(signer, date)
  const seed = signHex(key, stringToSign(timestamp, scope, sha256Hex(Buffer.from(canonical, 'latin1'))))
  headers.authorization = `${algorithmName} Credential=${signer.accessKey}/${scope}, SignedHeaders=${signedHeaders}, Signature=${seed}`
  return { headers, signing: { key, timestamp, scope, seed } }
}

function headersToSign(headers: Readonly<Record<string, string>>) {
  const names = Object.keys(headers).sort()
  return {
    headerBlock: names.map(name => `${name}:${foldSpaces(headers[name]!)}\n`).join(''),
    signedHeaders: names.join(';'),
  }
}

/**
 * `url` must be absolute, without signature parameters; `headers` must be sent with the request. RangeError for an invalid expiry or URL.
 */
export function presignUrl(
  signer: Signer,
  request: {
    readonly method: string
    readonly url: string
    readonly expiresSeconds: number
    readonly nowMs: number
    readonly headers?: Readonly<Record<string, string>>
  },
): string {
  const { expiresSeconds } = request
  if (!Number.isInteger(expiresSeconds) || expiresSeconds < 1 || expiresSeconds > expiresSecondsMax) {
    throw new RangeError(`a presigned URL is valid for 1 to ${expiresSecondsMax} seconds`)
  }
  // Not the class URL: it resolves `..` in paths, which are parts of keys here.
  const match = /^(https?:)\/\/([^/?#@]+)(\/[^?#]*)?(?:\?([^#]*))?$/.exec(request.url)
  if (match === null) throw new RangeError('the URL to presign must be absolute, without user and fragment')
  const [, scheme, authority, path = '/', givenQuery = ''] = match as unknown as [
    string,
    string,
    string,
    string?,
    string?,
  ]
  const host = authority.toLowerCase().replace(scheme === 'https:' ? /:443$/ : /:80$/, '')
  const timestamp = formatAmzDate(request.nowMs)
  const date = timestamp.slice(0, 8)
  const scope = scopeOf(signer, date)
  const { headerBlock, signedHeaders } = headersToSign({ ...request.headers, host })
  const query = [
    ...(givenQuery === '' ? [] : [givenQuery]),
    `X-Amz-Algorithm=${algorithmName}`,
    `X-Amz-Credential=${encodeText(`${signer.accessKey}/${scope}`)}`,
    `X-Amz-Date=${timestamp}`,
    `X-Amz-Expires=${expiresSeconds}`,
    `X-Amz-SignedHeaders=${encodeText(signedHeaders)}`,
  ].join('&')
  const canonical = canonicalRequest({
    method: request.method,
    path,
    query: canonicalQuery(parseQuery(query)),
    headerBlock,
    signedHeaders,
    payload: unsignedPayload,
  })
  const signature = signHex(keyOf(signer, date), stringToSign(timestamp, scope, sha256Hex(canonical)))
  return `${scheme}//${host}${path}?${query}&X-Amz-Signature=${signature}`
}

/** The fields of a POST form that sign its policy (JSON text). The policy must allow them in its conditions. */
export function signPolicy(signer: Signer, policy: string, nowMs: number): Record<string, string> {
  const timestamp = formatAmzDate(nowMs)
  const date = timestamp.slice(0, 8)
  const encoded = Buffer.from(policy, 'utf8').toString('base64')
  return {
    policy: encoded,
    'x-amz-algorithm': algorithmName,
    'x-amz-credential': `${signer.accessKey}/${scopeOf(signer, date)}`,
    'x-amz-date': timestamp,
    'x-amz-signature': signHex(keyOf(signer, date), encoded),
  }
}

export interface ChunkedBody {
  /** Each item becomes one chunk; none may be empty. */
  readonly chunks: readonly Uint8Array[]
  /** From the signed head, for forms with chunk signatures. */
  readonly signing?: ChunkSigning
  /** For forms with a trailer. Lower-case names. */
  readonly trailers?: Readonly<Record<string, string>>
}

/** Encodes a body in memory as aws-chunked. */
export function encodeChunks({ chunks, signing, trailers }: ChunkedBody): Buffer {
  const pieces: Uint8Array[] = []
  let previous = signing?.seed ?? ''
  const begin = (chunk: Uint8Array) => {
    const size = chunk.length.toString(16)
    if (signing === undefined) return pieces.push(Buffer.from(`${size}\r\n`))
    previous = signHex(signing.key, chunkStringToSign(signing, previous, sha256Hex(chunk)))
    return pieces.push(Buffer.from(`${size};chunk-signature=${previous}\r\n`))
  }
  for (const chunk of chunks) {
    begin(chunk)
    pieces.push(chunk, Buffer.from('\r\n'))
  }
  begin(new Uint8Array(0))
  if (trailers !== undefined) {
    const lines = Object.entries(trailers).map(([name, value]) => `${name}:${value}`)
    if (signing !== undefined) {
      const digest = sha256Hex(lines.map(line => `${line}\n`).join(''))
      lines.push(`${trailerSignatureName}:${signHex(signing.key, trailerStringToSign(signing, previous, digest))}`)
    }
    pieces.push(Buffer.from(lines.map(line => `${line}\r\n`).join('')))
  }
  pieces.push(Buffer.from('\r\n'))
  return Buffer.concat(pieces)
}
