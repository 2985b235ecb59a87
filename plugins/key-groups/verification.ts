/**
 * Whether a request is signed by a key of a group. In the order of the steps below; the first that fails is the reason.
 *
 * | Step | Refusal |
 * |---|---|
 * | 1–4 the parameters are there, once, in one form (signed-request.ts) | `missing`, `duplicate_parameter`, `ambiguous` |
 * | 5 the key is in the group, and enabled | `unknown_key` |
 * | 6 lengths, then base64 | `malformed` |
 * | 7 the signature | `weak_hash`, `bad_signature` |
 * | 8 the policy is read (signed-policy.ts) | `malformed_policy`, `unsupported_condition` |
 * | 9 resource, times, address | `resource`, `expired`, `not_yet`, `address` |
 *
 * 1. Nothing of a policy is read before its signature holds.
 * 2. A request costs at most four verifications (two schemes, two digests), for any input.
 * 3. Only a signature that holds is remembered.
 */
import { type KeyObject, verify } from 'node:crypto'
import { chain, type MaybePromise } from 'svc/kernel'
import { isInBlock, parseAddress } from 'svc/plugins/policy/api'
import type { CompiledDocuments } from 'svc/plugins/store/api'
import type { SignatureRefusal, SignatureVerdict, SignedRequest } from './api.ts'
import type { CompiledKeyGroup, VerifyingKey } from './documents.ts'
import type { RememberedSignatures } from './remembered.ts'
import { matchesResource } from './resource-pattern.ts'
import { decodeBytes, encodedLength, policyBytesMax } from './signature-text.ts'
import { cannedPolicy, isExpiry, parsePolicy, type SignedPolicy } from './signed-policy.ts'
import { type Carried, parameterOf, readCarried, type SectionedUrl, textOf, urlsOf } from './signed-request.ts'

/** Clocks of signers go wrong by so much. */
const earlySeconds = 30

type Digest = 'sha256' | 'sha1' | null
export type VerifySignature = (digest: Digest, signed: Buffer, key: KeyObject, signature: Buffer) => boolean

export interface VerificationOptions {
  readonly groups: CompiledDocuments<CompiledKeyGroup>
  readonly remembered: RememberedSignatures
  /** Default: that of node:crypto. */
  readonly verifySignature?: VerifySignature
}

export type Verification = (group: string, request: SignedRequest) => MaybePromise<SignatureVerdict>

/** A signature, and the key that it names. */
interface Claim {
  readonly group: CompiledKeyGroup
  readonly key: VerifyingKey
  readonly carried: Carried
  /** The signature, of the length that the key's algorithm has. */
  readonly signatureText: string
}

export function createVerification(options: VerificationOptions): Verification {
  const { groups, remembered, verifySignature = verify } = options

  /** Steps 6 and 7: undefined if the signature matches one of these texts. `known`: its entry in the memory of valid signatures. */
  const problemOfSignature = (
    { key, carried, signatureText }: Claim,
    known: string,
    candidates: readonly Buffer[],
  ): SignatureRefusal | undefined => {
    const signature = decodeBytes(signatureText)
    if (signature === undefined) return 'malformed'
    const digests = digestsOf(key, carried)
    if (typeof digests === 'string') return digests
    for (const signed of candidates) {
      if (!digests.some(digest => verifySignature(digest, signed, key.publicKey, signature))) continue
      remembered.add(known)
      return undefined
    }
    return 'bad_signature'
  }

  const rememberedAs = ({ group, key, carried, signatureText }: Claim, kind: string, text: string): string => {
    const digest = carried.values.get('Hash-Algorithm') ?? ''
    return remembered.keyOf([group.id, group.sequence, key.id, digest, kind, signatureText], text)
  }

  const customOf = (claim: Claim): SignedPolicy | SignatureRefusal => {
    const text = parameterOf(claim.carried, 'Policy') ?? ''
    const bytes = decodeBytes(text)
    if (bytes === undefined || bytes.length === 0 || bytes.length > policyBytesMax) return 'malformed'
    const known = rememberedAs(claim, 'policy', text)
    const problem = remembered.has(known) ? undefined : problemOfSignature(claim, known, [bytes])
    return problem ?? parsePolicy(bytes)
  }

  /** The signed text must be one of the URLs of the request, so no comparison is left. */
  const cannedOf = (claim: Claim, urls: readonly SectionedUrl[]): SignedPolicy | SignatureRefusal => {
    const expires = parameterOf(claim.carried, 'Expires')
    if (expires === undefined || !isExpiry(expires)) return 'malformed'
    const policy = { resource: '*', beforeSeconds: Number(expires), afterSeconds: undefined, addresses: undefined }
    // The first URL and the valid schemes determine all of them.
    const text = cannedPolicy(textOf(urls[0]!), expires)
    const known = rememberedAs(claim, `${urls.length}`, text)
    if (remembered.has(known)) return policy
    // One byte for each character: longer ones would be cut, and give the text of another URL.
    if (/[^\0-\xff]/.test(text)) return 'malformed'
    const candidates = urls.map(url => Buffer.from(cannedPolicy(textOf(url), expires), 'latin1'))
    return problemOfSignature(claim, known, candidates) ?? policy
  }

  const verifyIn = (
    group: CompiledKeyGroup | undefined,
    request: SignedRequest,
    carried: Carried,
  ): SignatureVerdict => {
    const keyId = parameterOf(carried, 'Key-Pair-Id') ?? ''
    const key = group?.keys.get(keyId)
    // The id of an unknown key is arbitrary text of the client, and is not logged.
    if (group === undefined || key === undefined) return refused('unknown_key')
    const signatureText = parameterOf(carried, 'Signature')
    if (signatureText?.length !== encodedLength(key.signatureBytes)) return refused('malformed', keyId)
    const urls = urlsOf(request, carried.query)
    const claim = { group, key, carried, signatureText }
    const policy = carried.values.has('Policy') ? customOf(claim) : cannedOf(claim, urls)
    if (typeof policy === 'string') return refused(policy, keyId)
    const problem = problemOf(policy, urls, request)
    if (problem !== undefined) return refused(problem, keyId)
    const { carrier, query } = carried
    return { isValid: true, keyId, carrier, expiresMs: policy.beforeSeconds * 1000, query }
  }

  return (group, request) => {
    const carried = readCarried(request)
    if (typeof carried === 'string') return refused(carried)
    return chain(groups.get(group), found => verifyIn(found, request, carried))
  }
}

const refused = (reason: SignatureRefusal, keyId?: string): SignatureVerdict => ({ isValid: false, reason, keyId })

function digestsOf(key: VerifyingKey, carried: Carried): readonly Digest[] | SignatureRefusal {
  if (key.algorithm === 'ed25519') return [null]
  if (!carried.values.has('Hash-Algorithm')) return key.allowSha1 ? ['sha256', 'sha1'] : ['sha256']
  const name = parameterOf(carried, 'Hash-Algorithm')
  if (name === 'SHA256') return ['sha256']
  if (name !== 'SHA1') return 'malformed'
  return key.allowSha1 ? ['sha1'] : 'weak_hash'
}

function problemOf(
  { resource, beforeSeconds, afterSeconds, addresses }: SignedPolicy,
  urls: readonly SectionedUrl[],
  { nowMs, clientAddress }: SignedRequest,
): SignatureRefusal | undefined {
  if (!urls.some(url => matchesResource(resource, url))) return 'resource'
  const nowSeconds = nowMs / 1000
  if (nowSeconds >= beforeSeconds) return 'expired'
  if (afterSeconds !== undefined && nowSeconds + earlySeconds <= afterSeconds) return 'not_yet'
  if (addresses === undefined) return undefined
  const address = parseAddress(clientAddress)
  return address !== undefined && addresses.some(block => isInBlock(address, block)) ? undefined : 'address'
}
