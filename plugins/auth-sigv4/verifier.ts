/** Compares a claim with what was received. One instance per thread; keeps signing keys of claims that have held. */

import type { Credentials } from 'svc/plugins/iam/api'
import { sha256Hex, stringToSign } from './canonical.ts'
import type { Claim } from './claim.ts'
import { authErrors } from './errors.ts'
import { asSent, canonical, type Head, otherReadings } from './head.ts'
import { deriveSigningKey, isSignature, type SigningKey, sign } from './signing-key.ts'

/** Claims that are kept: one per client, day and list of signed headers. */
export const knownClaimsMax = 1024
/** Other readings of longer queries are not tried: each costs as much as they are long. */
export const otherReadingsParametersMax = 128
/** Nor more of them than hash together this many characters: a wrong signature must not cost milliseconds. */
export const otherReadingsCharsMax = 128 * 1024
/** Longer texts are parsed each time. */
const knownTextCharsMax = 1024

export interface KnownClaim {
  readonly claim: Claim
  readonly credentials: Credentials
  readonly key: SigningKey
}

export interface Verifier {
  /** What was remembered for this text. Of credentials that were good then: see `know`. */
  recall(text: string): KnownClaim | undefined
  /** Only for claims whose signature has been verified: nobody else may push out what others use. */
  remember(text: string, known: KnownClaim): void
  /** The claim with the credentials that its access key has now: what was remembered, if that was of the same ones. */
  know(text: string, remembered: KnownClaim | undefined, claim: Claim, credentials: Credentials): KnownClaim
  /** Throws SignatureDoesNotMatch. */
  verify(known: KnownClaim, head: Head, timestamp: string, signature: string): void
}

export function createVerifier(): Verifier {
  const knownClaims = new Map<string, KnownClaim>()

  return {
    recall: text => knownClaims.get(text),
    remember(text, known) {
      if (text.length > knownTextCharsMax || knownClaims.has(text)) return
      if (knownClaims.size >= knownClaimsMax) knownClaims.delete(knownClaims.keys().next().value!)
      // A copy: the text may be a slice that keeps the head of its request alive.
      knownClaims.set(Buffer.from(text, 'latin1').latin1Slice(), known)
    },
    know(text, remembered, claim, credentials) {
      if (remembered !== undefined) {
        if (remembered.credentials === credentials) return remembered
        knownClaims.delete(text)
      }
      const { date, region, service } = claim.credential
      return { claim, credentials, key: deriveSigningKey(credentials.signingSecret, date, region, service) }
    },
    verify(known, head, timestamp, signature) {
      const { scope } = known.claim.credential
      const first = stringToSign(timestamp, scope, sha256Hex(asSent(head)))
      if (!isSignature(sign(known.key, first), signature)) verifyOtherwise(known, head, timestamp, signature)
    },
  }
}

/** The slow way, for clients whose signature is not over what they sent; ends in the error that tells what was expected. */
function verifyOtherwise(known: KnownClaim, head: Head, timestamp: string, signature: string): void {
  const { credential } = known.claim
  if (signature.length === 64 && head.parameters.length <= otherReadingsParametersMax) {
    // Node reads heads as latin1. Hashing that text as UTF-8 is right for clients that sign characters; these sign bytes.
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

function matches(known: KnownClaim, timestamp: string, canonicalBytes: Buffer, signature: string): boolean {
  const text = stringToSign(timestamp, known.claim.credential.scope, sha256Hex(canonicalBytes))
  return isSignature(sign(known.key, text), signature)
}

/** Headers and parameters whose values are secrets: an error must not carry them into a log. */
const secretHeaders =
  /^((?:x-amz-(?:copy-source-)?server-side-encryption-customer-key(?:-md5)?|x-amz-security-token|cookie|proxy-authorization):).*$/gm
const secretParameters =
  /((?:x-amz-(?:copy-source-)?server-side-encryption-customer-key(?:-md5)?|x-amz-security-token)=)[^&\n]*/gi

/** Of a canonical request, or of a string to sign that holds headers. */
export function redact(canonicalRequest: string): string {
  return canonicalRequest.replace(secretHeaders, '$1<redacted>').replace(secretParameters, '$1<redacted>')
}
