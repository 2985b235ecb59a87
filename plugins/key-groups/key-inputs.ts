/** From the requested keys of a group to the stored ones. */
import type { KeyInput } from './api.ts'
import type { KeyDocument } from './documents.ts'
import { keyGroupErrors } from './errors.ts'
import { type PublicKey, readPublicKey } from './public-keys.ts'

export const keysMax = 10

const idPattern = /^[a-z0-9._-]{1,64}$/

/** Throws `invalid_key_group`. */
export function requireGroupId(id: string): void {
  // The last two are no names in a path.
  if (idPattern.test(id) && id !== '.' && id !== '..') return
  const message = 'The id of a key group has 1 to 64 characters of a-z, 0-9, ".", "_" and "-".'
  throw keyGroupErrors.invalid_key_group(message, { cause: [{ element: '/id', message }] })
}

/** When a key is added, and by whom. */
export interface Addition {
  readonly nowMs: number
  readonly user: string | undefined
}

/** Keys that the group already has keep their private keys, dates and users. Throws `invalid_key_group`. */
export function applyInputs(
  inputs: readonly KeyInput[],
  stored: readonly KeyDocument[],
  addition: Addition,
): KeyDocument[] {
  if (inputs.length > keysMax) throw invalid('keys', `has ${inputs.length} keys; ${keysMax} are the most`)
  const known = new Map(stored.map(key => [key.id, key]))
  const keys = new Map<string, KeyDocument>()
  for (const [index, input] of inputs.entries()) {
    const place = `keys/${index}`
    const key = applyInput(input, known, place, addition)
    if (keys.has(key.id)) throw invalid(place, `is the key ${key.id} again`)
    keys.set(key.id, key)
  }
  return [...keys.values()]
}

function applyInput(
  input: KeyInput,
  known: ReadonlyMap<string, KeyDocument>,
  place: string,
  addition: Addition,
): KeyDocument {
  const given = input.publicKey === undefined ? undefined : requirePublicKey(input.publicKey, `${place}/publicKey`)
  const id = input.id ?? given?.id
  if (id === undefined) throw invalid(place, 'has neither id nor publicKey')
  if (given !== undefined && given.id !== id) {
    throw invalid(`${place}/id`, `is not the id of its publicKey, which is ${given.id}`)
  }
  const found = known.get(id)
  if (found === undefined && given === undefined) {
    throw invalid(`${place}/id`, `names ${JSON.stringify(id)}, which is not in the group; a new key needs publicKey`)
  }
  const base = found ?? newKey(given!, addition)
  if (input.algorithm !== undefined && input.algorithm !== base.algorithm) {
    throw invalid(`${place}/algorithm`, `is ${input.algorithm}, and the key is ${base.algorithm}`)
  }
  if (input.allowSha1 === true && base.algorithm !== 'rsa') throw invalid(`${place}/allowSha1`, 'is for RSA keys')
  // A field that is left out gets the default of a new key: a PUT replaces.
  return { ...base, name: input.name ?? '', enabled: input.enabled ?? true, allowSha1: input.allowSha1 ?? false }
}

/** Throws `invalid_key_group`. */
export function requirePublicKey(text: string, place: string): PublicKey {
  const read = readPublicKey(text)
  if (typeof read === 'string') throw invalid(place, read)
  return read
}

export function newKey({ id, algorithm, pem }: PublicKey, { nowMs, user }: Addition, name = ''): KeyDocument {
  const key = { id, name, algorithm, publicKey: pem, enabled: true, allowSha1: false, createdMs: nowMs }
  return user === undefined ? key : { ...key, addedBy: user }
}

export function invalid(place: string, message: string): Error {
  const sentence = `/${place} ${message}.`
  return keyGroupErrors.invalid_key_group(sentence, { cause: [{ element: `/${place}`, message }] })
}
