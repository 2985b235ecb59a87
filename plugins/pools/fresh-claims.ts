/**
 * Claims (see claims.ts) that were granted in this run of the server, and that no acknowledged record uses yet: a shadow is there for each.
 * In the thread that commits. A record may use these, and claims that a record has already; no others.
 *
 * | State | Next |
 * |---|---|
 * | idle | a transaction uses it: referred; it is given up: gone |
 * | referred | acknowledged: gone from here, the record has it; refused: idle; not known: it stays so until the server ends |
 */
import { blobOfClaim } from './claims.ts'

/** More are never under way. Of more the oldest are forgotten: records that come to use these are refused. */
const claimsMax = 100_000

interface Fresh {
  readonly size: number
  /** By who wrote the blob, not for a record that turned out to want it. */
  readonly isWriters: boolean
  isReferred: boolean
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

  /** To be called where the shadow is put. Returns the number of the grant. */
  add(claim: string, size: number, isWriters: boolean): number {
    // A transaction may run twice.
    if (!this.#claims.has(claim)) {
      if (this.#claims.size >= claimsMax) this.#delete(this.#claims.keys().next().value!)
      this.#claims.set(claim, { size, isWriters, isReferred: false })
      const blob = blobOfClaim(claim)
      const others = this.#blobs.get(blob)
      if (others === undefined) this.#blobs.set(blob, new Set([claim]))
      else others.add(claim)
    }
    return ++this.#lastGrant
  }

  has(claim: string): boolean {
    return this.#claims.has(claim)
  }

  /** Of a blob that has a claim here, whichever. */
  sizeOf(blobId: string): number | undefined {
    const [claim] = this.#blobs.get(blobId) ?? []
    return claim === undefined ? undefined : this.#claims.get(claim)?.size
  }

  /** A transaction uses it. False where it is not fresh. */
  refer(claim: string): boolean {
    const found = this.#claims.get(claim)
    if (found === undefined) return false
    found.isReferred = true
    return true
  }

  /** The transaction was not made. */
  onRefused(claims: readonly string[]): void {
    for (const claim of claims) {
      const found = this.#claims.get(claim)
      if (found !== undefined) found.isReferred = false
    }
  }

  /** Returns claims that are given up with that: what was written for another group than the one that came to have it. */
  onAcknowledged(claims: readonly string[]): string[] {
    const givenUp: string[] = []
    for (const claim of claims) this.#delete(claim)
    for (const claim of claims) {
      for (const other of this.#blobs.get(blobOfClaim(claim)) ?? []) {
        if (this.#claims.get(other)?.isWriters === true && this.giveUp(other)) givenUp.push(other)
      }
    }
    return givenUp
  }

  /** Nobody will use it any more. False where a transaction may have done so, or it is not known. */
  giveUp(claim: string): boolean {
    if (this.#claims.get(claim)?.isReferred !== false) return false
    this.#delete(claim)
    return true
  }

  /** The same of a blob with all of its claims, which are returned. Undefined where a transaction may use one, or none is known. */
  giveUpBlob(blobId: string): readonly string[] | undefined {
    const claims = [...(this.#blobs.get(blobId) ?? [])]
    if (claims.length === 0 || claims.some(claim => this.#claims.get(claim)!.isReferred)) return undefined
    for (const claim of claims) this.#delete(claim)
    return claims
  }

  #delete(claim: string): void {
    if (!this.#claims.delete(claim)) return
    const blob = blobOfClaim(claim)
    const others = this.#blobs.get(blob)!
    others.delete(claim)
    if (others.size === 0) this.#blobs.delete(blob)
  }
}
