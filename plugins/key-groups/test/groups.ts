/** Groups in memory, and requests for URLs, for tests of verification without a server. */
import { createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import type { SignatureVerdict, SignedRequest } from '../api.ts'
import type { CompiledKeyGroup, VerifyingKey } from '../documents.ts'
import { createRemembered } from '../remembered.ts'
import { createVerification, type VerifySignature } from '../verification.ts'

export const pkcs8 = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()
export const spki = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString()

export const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
export const rsa4096 = generateKeyPairSync('rsa', { modulusLength: 4096 })
export const ed25519 = generateKeyPairSync('ed25519')

/** The key of RFC 8032 7.1, test 1. */
export const rfcKey = createPublicKey({
  key: { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' },
  format: 'jwk',
})

export function verifying(id: string, publicKey: KeyObject, allowSha1 = false): VerifyingKey {
  const isRsa = publicKey.asymmetricKeyType === 'rsa'
  const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? 512
  return { id, algorithm: isRsa ? 'rsa' : 'ed25519', publicKey, signatureBytes: bits / 8, allowSha1 }
}

/** The group `films` with every kind of key. */
export const films: CompiledKeyGroup = {
  id: 'films',
  sequence: 1,
  keys: new Map(
    [
      verifying('KED', rfcKey),
      verifying('KEDWARDS', ed25519.publicKey),
      verifying('KRSA', rsa.publicKey),
      verifying('KRSAOLD', rsa.publicKey, true),
      verifying('KRSALONG', rsa4096.publicKey),
    ].map(key => [key.id, key]),
  ),
}

/** Counts the verifications of node:crypto that it asks for. */
export function startVerification(groups: ReadonlyMap<string, CompiledKeyGroup> = new Map([['films', films]])) {
  const count = { verified: 0 }
  const verifySignature: VerifySignature = (digest, signed, key, signature) => {
    count.verified++
    return verify(digest, signed, key, signature)
  }
  const remembered = createRemembered()
  const check = createVerification({ groups: { get: id => groups.get(id) }, remembered, verifySignature })
  return {
    count,
    remembered,
    verify: (request: SignedRequest, group = 'films') => check(group, request) as SignatureVerdict,
  }
}

export const nowMs = Date.parse('2026-03-01T12:00:00Z')

/** A GET of the URL as written, without normalization. */
export function requestFor(url: string, change: Partial<SignedRequest> = {}): SignedRequest {
  const [, scheme, host, path, query = ''] = /^(https?):\/\/([^/]+)(\/[^?]*)(?:\?(.*))?$/s.exec(url)!
  return {
    secure: scheme === 'https',
    host: host!,
    path: path!,
    query,
    cookie: undefined,
    clientAddress: '192.0.2.7',
    nowMs,
    holdsFromProxy: false,
    ...change,
  }
}

export const outcomeOf = (verdict: SignatureVerdict): string => (verdict.isValid ? verdict.carrier : verdict.reason)

/** The base64 variant of CDNs. Written again here, so that the tests do not use the tested code. */
export const toUrlText = (bytes: Buffer | string): string =>
  Buffer.from(bytes).toString('base64').replaceAll('+', '-').replaceAll('=', '_').replaceAll('/', '~')
