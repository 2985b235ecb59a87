/**
 * What follows from a record of a set: what its user derives from the value, and the ledger. Because the ledger is derived, like
 * every sum, it is the same function of the records always: no crash and no interrupted repair can make it wrong.
 */
import type { Derive, DerivedWriter } from 'svc/plugins/storage/api'
import { groupOf, incompleteKey, ledgerKey, ownerKey, tableByte, totalKey } from './set-keys.ts'
import { dataBytesOf, generationsOf, headOf, userValueOf } from './set-record.ts'

const allGroups = Buffer.alloc(0)
const nothing = Buffer.alloc(0)

export function deriveInSet(derive: Derive): Derive {
  return (key, before, after, emit) => {
    if (key[0] === tableByte) return
    derive(
      key,
      before === undefined ? undefined : userValueOf(before),
      after === undefined ? undefined : userValueOf(after),
      emit,
    )
    if (before !== undefined) count(key, before, emit, -1)
    if (after !== undefined) count(key, after, emit, 1)
  }
}

function count(key: Buffer, record: Uint8Array, emit: DerivedWriter, sign: 1 | -1): void {
  const generations = generationsOf(record)
  if (generations.length === 0) return
  const deltas = [sign, sign * dataBytesOf(record)]
  const group = groupOf(key)
  emit.add(totalKey(allGroups), deltas)
  emit.add(totalKey(group), deltas)
  emit.add(ledgerKey(allGroups, generations), deltas)
  emit.add(ledgerKey(group, generations), deltas)
  const { blobs, lessParity } = headOf(record)
  for (const { id } of blobs) {
    if (sign < 0) emit.delete(ownerKey(id, key))
    else emit.put(ownerKey(id, key), nothing)
  }
  let left = 0
  for (const generation of generations) if (generation !== 0) left++
  if (left === generations.length) return
  // What has less parity is as near to its end as what has full parity and so many shards fewer.
  const entry = incompleteKey(Math.max(0, left - lessParity), key)
  // What was there before is taken away first: an entry that stays is put again.
  if (sign < 0) emit.delete(entry)
  else emit.put(entry, nothing)
}
