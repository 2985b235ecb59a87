/**
 * Claims (see claims.ts) for which a shadow was put in this run of the server, and that no acknowledged record uses yet. In the thread that
 * commits. A record may use these, and claims that a record has already; no others.
 *
 * | State | Next |
 * |---|---|
 * | asked for: its shadow is put, and may be taken back | acknowledged: granted; else given up |
 * | granted | transactions use it; given up: gone |
 * | used by transactions | one is acknowledged: gone from here, the record has it; one is refused: it uses it no more, and gives it up; not known: for ever |
 *
 * While a claim is here its shadow is not deleted. What leaves without a record, and what somebody has asked for meanwhile, is to be
 * settled: see `Forgetting`.
 */
import { blobOfClaim } from './claims.ts'

/** More are never under way. Of more the oldest are forgotten: records that come to use these are refused. */
const claimsMax = 100_000

interface Fresh {
  readonly size: number
  /** By who wrote the blob, not for a record that turned out to want it. */
  readonly isWriters: boolean
  /** The grant that made this entry. */
  readonly since: number
  isGranted: boolean
  /** Somebody wanted to know whether a record has it. */
  isAsked: boolean
  /** Transactions that use it, or may have. */
  readonly users: Set<object>
}

export class FreshClaims {
  readonly #claims = new Map<string, Fresh>()
  /** By blob. */
  readonly #blobs = new Map<string, Set<string>>()
  #lastGrant = 0

  /** Grants are numbered from 1 in each run. */
  get lastGrant(): number {
    return this.#lastGrant
  }

  /** To be called where the shadow is put, each time. Returns the number of the grant. */
  add(claim: string, size: number, isWriters: boolean): number {
    const number = ++this.#lastGrant
    if (this.#claims.has(claim)) return number
    if (this.#claims.size >= claimsMax) this.#delete(this.#claims.keys().next().value!)
    // Nobody else knows of a blob before its writer has the answer.
    this.#claims.set(claim, { size, isWriters, since: number, isGranted: isWriters, isAsked: false, users: new Set() })
    const blob = blobOfClaim(claim)
    const others = this.#blobs.get(blob)
    if (others === undefined) this.#blobs.set(blob, new Set([claim]))
    else others.add(claim)
    return number
  }

  /** The grant is acknowledged. False where the claim was used or given up since. */
  confirm(claim: string, number: number): boolean {
    const found = this.#claims.get(claim)
    if (found === undefined || found.since > number) return false
    found.isGranted = true
    return true
  }

  /** Whether it is here; then whoever has it is told when it is not any more. */
  ask(claim: string): boolean {
    const found = this.#claims.get(claim)
    if (found === undefined) return false
    found.isAsked = true
    return true
  }

  /** Of a blob that has a claim here, whichever. */
  sizeOf(blobId: string): number | undefined {
    const [claim] = this.#blobs.get(blobId) ?? []
    return claim === undefined ? undefined : this.#claims.get(claim)?.size
  }

  /** A transaction uses it. False where it is not granted, or not here. */
  refer(claim: string, user: object): boolean {
    const found = this.#claims.get(claim)
    if (found?.isGranted !== true) return false
    found.users.add(user)
    return true
  }

  /** The transaction was not made. */
  onRefused(claims: readonly string[], user: object): void {
    for (const claim of claims) this.#claims.get(claim)?.users.delete(user)
  }

  /** Returns what is to be settled: what was asked for, and what was written for another group than the one that came to have it. */
  onAcknowledged(claims: readonly string[]): string[] {
    const unsettled: string[] = []
    for (const claim of claims) {
      if (this.#claims.get(claim)?.isAsked === true) unsettled.push(claim)
      this.#delete(claim)
    }
    for (const claim of claims) {
      for (const other of this.#blobs.get(blobOfClaim(claim)) ?? []) {
        if (this.isWriters(other) && this.giveUp(other)) unsettled.push(other)
      }
    }
    return unsettled
  }

  /** Nobody will use it any more: it is to be settled. False where a transaction uses it, or may have, or it is not here. */
  giveUp(claim: string): boolean {
    if (this.#claims.get(claim)?.users.size !== 0) return false
    this.#delete(claim)
    return true
  }

  /** The same of what a blob was written for, by its writer. Returns what is to be settled. */
  giveUpBlob(blobId: string): readonly string[] {
    return [...(this.#blobs.get(blobId) ?? [])].filter(claim => this.isWriters(claim) && this.giveUp(claim))
  }

  isWriters(claim: string): boolean {
    return this.#claims.get(claim)?.isWriters === true
  }

  #delete(claim: string): void {
    if (!this.#claims.delete(claim)) return
    const blob = blobOfClaim(claim)
    const others = this.#blobs.get(blob)!
    others.delete(claim)
    if (others.size === 0) this.#blobs.delete(blob)
  }
}
