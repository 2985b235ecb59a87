/**
 * Signature Version 4 for requests that the benchmarks prepare in advance. Targets must already be canonical: a path of
 * unreserved characters, and a query that is encoded and sorted.
 */
import { createHash, createHmac } from 'node:crypto'

export interface Credentials {
  readonly accessKey: string
  readonly secretKey: string
}

export interface Signer {
  /** Head lines (each with CRLF) for a request, `host` included. */
  headers(method: string, target: string, payloadHash: string): string
  /** The target with the parameters of a presigned URL. */
  presign(method: string, target: string, expiresSeconds: number): string
}

const REGION = 'us-east-1'
const ALGORITHM = 'AWS4-HMAC-SHA256'

export function createSigner(credentials: Credentials, host: string): Signer {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const scope = `${time.slice(0, 8)}/${REGION}/s3/aws4_request`
  const key = scope
    .split('/')
    .reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${credentials.secretKey}`) as Buffer

  function sign(canonical: string): string {
    const hash = createHash('sha256').update(canonical).digest('hex')
    return hmac(key, `${ALGORITHM}\n${time}\n${scope}\n${hash}`).toString('hex')
  }

  return {
    headers(method, target, payloadHash) {
      const [path, query = ''] = target.split('?')
      const names = 'host;x-amz-content-sha256;x-amz-date'
      const lines = `host:${host}\nx-amz-content-sha256:${payloadHash}\nx-amz-date:${time}\n`
      const signature = sign(`${method}\n${path}\n${query}\n${lines}\n${names}\n${payloadHash}`)
      const authorization = `${ALGORITHM} Credential=${credentials.accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`
      return `Host: ${host}\r\nx-amz-content-sha256: ${payloadHash}\r\nx-amz-date: ${time}\r\nAuthorization: ${authorization}\r\n`
    },
    presign(method, target, expiresSeconds) {
      const query =
        `X-Amz-Algorithm=${ALGORITHM}&X-Amz-Credential=${encodeURIComponent(`${credentials.accessKey}/${scope}`)}` +
        `&X-Amz-Date=${time}&X-Amz-Expires=${expiresSeconds}&X-Amz-SignedHeaders=host`
      const signature = sign(`${method}\n${target}\n${query}\nhost:${host}\n\nhost\nUNSIGNED-PAYLOAD`)
      return `${target}?${query}&X-Amz-Signature=${signature}`
    },
  }
}

function hmac(key: string | Buffer, data: string): Buffer {
  return createHmac('sha256', key).update(data).digest()
}
