/**
 * Client tokens: what makes a request that changes something repeatable. Each request that was done leaves a record with the hash of
 * what it asked for. Tokens are kept by day (UTC), today's and yesterday's count, and each new one takes away two that are older: there
 * are never more than two days of them, and then some that go as new ones come.
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
  /** What the token is unique in. */
  readonly scope: string
  readonly token: string
  /** Everything that the request asked for, in one text. */
  readonly parameters: string
}

/** Whether the request was done before. Throws IdempotencyParameterMismatch where the token was used for another one. */
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
