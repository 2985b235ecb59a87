/**
 * Verifies the signature of a presented credential. One instance per thread; caches credentials whose signature was valid, with their
 * signing keys.
 */

import type { Credentials } from 'svc/plugins/iam/api'
import { sha256Hex, stringToSign } from './canonical.ts'
import { authErrors } from './errors.ts'
import { asSent, canonical, type Head, otherReadings } from './head.ts'
import type { PresentedCredential } from './presented-credential.ts'
import { deriveSigningKey, isSignature, type SigningKey, sign } from './signing-key.ts'

/** Maximum size of the cache: one entry per client, day and list of signed headers. */
export const knownCredentialsMax = 1024
/** For longer queries no other variants of the canonical request are tried, because the cost of each is proportional to the length. */
export const otherReadingsParametersMax = 128
/** Maximum number of characters that all variants together may have: a wrong signature must not cost milliseconds. */
export const otherReadingsCharsMax = 128 * 1024
/** Longer texts are not cached, but parsed each time. */
const knownTextCharsMax = 1024

export interface KnownCredential {
  readonly presented: PresentedCredential
  readonly credentials: Credentials
  readonly key: SigningKey
}

export interface Verifier {
  /** The cached entry for this text, with the credentials that were valid then: see `know`. */
  recall(text: string): KnownCredential | undefined
  /** Only for verified signatures, so that other requests cannot evict entries of clients. */
  remember(text: string, known: KnownCredential): void
  /** The presented credential with the present credentials of its access key: the cached entry if it has the same ones. */
  know(
    text: string,
    remembered: KnownCredential | undefined,
    presented: PresentedCredential,
    credentials: Credentials,
  ): KnownCredential
  /** Throws SignatureDoesNotMatch. */
  verify(known: KnownCredential, head: Head, timestamp: string, signature: string): void
}

export function createVerifier(): Verifier {
  const knownCredentials = new Map<string, KnownCredential>()

  return {
    recall: text => knownCredentials.get(text),
    remember(text, known) {
      if (text.length > knownTextCharsMax || knownCredentials.has(text)) return
      if (knownCredentials.size >= knownCredentialsMax) knownCredentials.delete(knownCredentials.keys().next().value!)
      // A copy: the text may be a slice that keeps the head of its request in memory.
      knownCredentials.set(Buffer.from(text, 'latin1').latin1Slice(), known)
    },
    know(text, remembered, presented, credentials) {
      if (remembered !== undefined) {
        if (remembered.credentials === credentials) return remembered
        knownCredentials.delete(text)
      }
      const { date, region, service } = presented.credential
      return { presented, credentials, key: deriveSigningKey(credentials.signingSecret, date, region, service) }
    },
    verify(known, head, timestamp, signature) {
      const { scope } = known.presented.credential
      const first = stringToSign(timestamp, scope, sha256Hex(asSent(head)))
      if (!isSignature(sign(known.key, first), signature)) verifyOtherwise(known, head, timestamp, signature)
    },
  }
}

/** The slow path for clients that do not sign what they send. Throws the error with the expected values if no variant matches. */
function verifyOtherwise(known: KnownCredential, head: Head, timestamp: string, signature: string): void {
  const { credential } = known.presented
  if (signature.length === 64 && head.parameters.length <= otherReadingsParametersMax) {
    // Node.js decodes heads as latin1. The hash of that text as UTF-8 is right for clients that sign characters; other clients sign bytes.
    const bytes = Buffer.from(asSent(head), 'latin1')
    if (matches(known, timestamp, bytes, signature)) return
    let leftChars = otherReadingsCharsMax
    for (const reading of otherReadings(head)) {
      leftChars -= reading.length
      if (leftChars < 0) break
      if (matches(known, timestamp, Buffer.from(reading, 'latin1'), signature)) return
    }
  }
  const expected = canonical(head)
  throw authErrors.SignatureDoesNotMatch(undefined, {
    extra: {
      AWSAccessKeyId: credential.accessKey,
      StringToSign: stringToSign(timestamp, credential.scope, sha256Hex(expected)),
      SignatureProvided: signature.slice(0, 128),
      CanonicalRequest: redact(expected),
    },
  })
}

function matches(known: KnownCredential, timestamp: string, canonicalBytes: Buffer, signature: string): boolean {
  const text = stringToSign(timestamp, known.presented.credential.scope, sha256Hex(canonicalBytes))
  return isSignature(sign(known.key, text), signature)
}

/** Headers and parameters with secret values: an error must not copy them to a log. */
const secretHeaders =
  /^((?:x-amz-(?:copy-source-)?server-side-encryption-customer-key(?:-md5)?|x-amz-security-token|cookie|proxy-authorization):).*$/gm
const secretParameters =
  /((?:x-amz-(?:copy-source-)?server-side-encryption-customer-key(?:-md5)?|x-amz-security-token)=)[^&\n]*/gi

/** For a canonical request, or a string to sign that contains headers. */
export function redact(canonicalRequest: string): string {
  return canonicalRequest.replace(secretHeaders, '$1<redacted>').replace(secretParameters, '$1<redacted>')
}
