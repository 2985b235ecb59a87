/** The plugin as the server runs it, with a fixed clock. */
import { isCatalogError } from 'svc/kernel'
import type { Authentication, PayloadDecoder, SignedRequest } from 'svc/plugins/iam/api'
import iam from 'svc/plugins/iam/index'
import { createFakeClock, startKernel } from 'svc/testing'
import type { AuthSigv4Service, Signer } from '../api.ts'
import plugin from '../index.ts'

/** The credentials of AWS's own examples. */
export const accessKey = 'AKIAIOSFODNN7EXAMPLE'
export const secretKey = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
export const region = 'us-east-1'
export const signer: Signer = { accessKey, secret: secretKey, region }

/** Root's credentials are found without waiting. */
export interface ImmediateAuth {
  authenticate(request: SignedRequest): Authentication
  authenticateForm(fields: ReadonlyMap<string, string>): Authentication
  readonly region: string
  readonly presign: AuthSigv4Service['presign']
}

export async function startAuth(nowMs: number, accessKeyOfRoot = accessKey): Promise<ImmediateAuth> {
  const { services } = await startKernel({
    plugins: [plugin, iam],
    config: { iam: { rootUser: accessKeyOfRoot, rootPassword: secretKey } },
    ports: { clock: createFakeClock(nowMs) },
  })
  const { authSigv4, iam: chain } = services
  return {
    ...authSigv4,
    authenticate: request => atOnce(chain.authenticate(request, '192.0.2.1')),
    authenticateForm: fields => atOnce(chain.authenticateForm(fields, '192.0.2.1')),
  }
}

export function atOnce<T>(value: T | Promise<T>): T {
  if (value instanceof Promise) throw new Error('it should not have to be waited for')
  return value
}

/** A request as the listener passes it on. */
export function received(
  method: string,
  target: string,
  headers: Readonly<Record<string, string>>,
  rawHeaders?: readonly string[],
): SignedRequest {
  const question = target.indexOf('?')
  return {
    api: 's3',
    method,
    rawPath: question < 0 ? target : target.slice(0, question),
    rawQuery: question < 0 ? '' : target.slice(question + 1),
    headers,
    rawHeaders,
    host: (headers.host ?? '').toLowerCase(),
    secure: false,
  }
}

/** `CODE status` of the catalogue error of a call, or `accepted`. Other errors are thrown again. */
export function outcome(call: () => unknown): string {
  try {
    call()
    return 'accepted'
  } catch (error) {
    if (!isCatalogError(error)) throw error
    return `${error.code} ${error.status}`
  }
}

/** Passes the given pieces to the decoder and returns its output. */
export function decode(
  decoder: PayloadDecoder,
  pieces: readonly Buffer[],
): { payload: Buffer; trailers: Readonly<Record<string, string>> } {
  const payload: Buffer[] = []
  for (const piece of pieces) {
    // Each piece is copied, and overwritten afterwards, to detect a decoder that keeps a slice of a socket's buffer.
    const lent = Buffer.from(piece)
    decoder.push(lent, bytes => payload.push(Buffer.from(bytes)))
    lent.fill(0)
  }
  return { payload: Buffer.concat(payload), trailers: Object.fromEntries(decoder.end()) }
}
