/**
 * Client tokens, which make a changing request idempotent. Each completed request stores a record with the hash of its
 * parameters. Tokens are stored by day (UTC); those of today and yesterday are valid. Each new token removes two older ones, so
 * expired tokens disappear as new ones come.
 */
import { hash } from 'node:crypto'
import type { Transaction } from 'svc/plugins/storage/api'
import { recordTable as table } from 'svc/plugins/storage/api'
import { objectErrors } from './errors.ts'

const dayMs = 86_400_000
const daysKept = 2
const hashBytes = 16
const removedAtOnce = 2

export interface DoneRequest {
  /** The scope in which the token is unique. */
  readonly scope: string
  readonly token: string
  /** All parameters of the request, as one text. */
  readonly parameters: string
}

/**
 * Whether the request has been done before. Throws IdempotencyParameterMismatch if the token was used for
 * another request.
 */
export function wasDone(tx: Transaction, request: DoneRequest): boolean {
  const today = dayOf(tx.nowMs)
  for (let day = today; day > today - daysKept; day--) {
    const done = tx.get(tokenKey(day, request))
    if (done === undefined) continue
    if (digest(request.parameters).equals(done.value)) return true
    throw objectErrors.IdempotencyParameterMismatch()
  }
  return false
}

export function noteDone(tx: Transaction, request: DoneRequest): void {
  const today = dayOf(tx.nowMs)
  tx.put(tokenKey(today, request), digest(request.parameters))
  const [start, end] = [dayKey(0), dayKey(today - daysKept + 1)]
  for (let left = removedAtOnce; left > 0; left--) {
    const old = tx.first(start, end)
    if (old === undefined) return
    tx.delete(Buffer.from(old.key))
  }
}

function tokenKey(day: number, { scope, token }: DoneRequest): Buffer {
  return Buffer.concat([dayKey(day), digest(`${scope}\0${token}`)])
}

function dayKey(day: number): Buffer {
  const key = Buffer.allocUnsafe(4)
  key[0] = table.token
  key.writeUIntBE(day, 1, 3)
  return key
}

function dayOf(timeMs: number): number {
  return Math.floor(timeMs / dayMs)
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer').subarray(0, hashBytes)
}
