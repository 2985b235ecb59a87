/** Signing for the benchmarks, in the forms that they need: the text of a head, and the target of a presigned URL. */
import { presignUrl, type Signer, signRequest } from 'svc/plugins/auth-sigv4/api'

export interface Credentials {
  readonly accessKey: string
  readonly secretKey: string
}

export interface RequestSigner {
  /** Head lines (each with CRLF) for a request, `host` and `more` included. The target is a path with its query, both encoded. */
  headers(method: string, target: string, payloadHash: string, more?: Readonly<Record<string, string>>): string
  /** The target with the parameters of a presigned URL. */
  presign(method: string, target: string, expiresSeconds: number): string
}

/** Every signature bears the time of this call. */
export function createSigner(credentials: Credentials, host: string): RequestSigner {
  const signer: Signer = { accessKey: credentials.accessKey, secret: credentials.secretKey, region: 'us-east-1' }
  const nowMs = Date.now()
  return {
    headers(method, target, payload, more) {
      const [path, query] = target.split('?')
      const { headers } = signRequest(signer, { method, host, path, query, headers: more, payload, nowMs })
      let lines = ''
      for (const name in headers) lines += `${name}: ${headers[name]}\r\n`
      return lines
    },
    presign(method, target, expiresSeconds) {
      const url = presignUrl(signer, { method, url: `http://${host}${target}`, expiresSeconds, nowMs })
      return url.slice(`http://${host}`.length)
    },
  }
}
