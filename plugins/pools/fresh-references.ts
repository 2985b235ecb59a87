/**
 * References (see references.ts) for which a remote reference was put in this run of the server, and that no acknowledged record uses yet. In the thread that
 * commits. A record may use these, and references that a record has already; no others.
 *
 * | State | Next |
 * |---|---|
 * | asked for: its remote reference is put, and may be taken back | acknowledged: granted; else given up |
 * | granted | transactions use it; given up: gone |
 * | used by transactions | one is acknowledged: gone from here, the record has it; one is refused: it uses it no more, and gives it up; not known: for ever |
 *
 * While a reference is here its remote reference is not deleted. What leaves without a record, and what somebody has asked for meanwhile, is to be
 * settled: see `ReferenceReleaser`.
 */
import { blobOfReference } from './blob-references.ts'

/** More are never under way. Of more the oldest are forgotten: records that come to use these are refused. */
const referencesMax = 100_000

interface Fresh {
  readonly size: number
  /** By who wrote the blob, not for a record that turned out to want it. */
  readonly isByWriter: boolean
  /** The grant that made this entry. */
  readonly since: number
  isAcquired: boolean
  /** Somebody wanted to know whether a record has it. */
  isDeferred: boolean
  /** Transactions that use it, or may have. */
  readonly users: Set<object>
}

export class FreshReferences {
  readonly #references = new Map<string, Fresh>()
  /** By blob. */
  readonly #blobs = new Map<string, Set<string>>()
  #lastAcquisition = 0

  /** Grants are numbered from 1 in each run. */
  get lastAcquisition(): number {
    return this.#lastAcquisition
  }

  /** To be called where the remote reference is put, each time. Returns the number of the grant. */
  add(reference: string, size: number, isByWriter: boolean): number {
    const number = ++this.#lastAcquisition
    if (this.#references.has(reference)) return number
    if (this.#references.size >= referencesMax) this.#delete(this.#references.keys().next().value!)
    // Nobody else knows of a blob before its writer has the answer.
    this.#references.set(reference, {
      size,
      isByWriter,
      since: number,
      isAcquired: isByWriter,
      isDeferred: false,
      users: new Set(),
    })
    const blob = blobOfReference(reference)
    const others = this.#blobs.get(blob)
    if (others === undefined) this.#blobs.set(blob, new Set([reference]))
    else others.add(reference)
    return number
  }

  /** The grant is acknowledged. False where the reference was used or given up since. */
  confirm(reference: string, number: number): boolean {
    const found = this.#references.get(reference)
    if (found === undefined || found.since > number) return false
    found.isAcquired = true
    return true
  }

  /** Whether it is here; then whoever has it is told when it is not any more. */
  deferResolve(reference: string): boolean {
    const found = this.#references.get(reference)
    if (found === undefined) return false
    found.isDeferred = true
    return true
  }

  /** Of a blob that has a reference here, whichever. */
  sizeOf(blobId: string): number | undefined {
    const [reference] = this.#blobs.get(blobId) ?? []
    return reference === undefined ? undefined : this.#references.get(reference)?.size
  }

  /** A transaction uses it. False where it is not granted, or not here. */
  use(reference: string, user: object): boolean {
    const found = this.#references.get(reference)
    if (found?.isAcquired !== true) return false
    found.users.add(user)
    return true
  }

  /** The transaction was not made. */
  onRefused(references: readonly string[], user: object): void {
    for (const reference of references) this.#references.get(reference)?.users.delete(user)
  }

  /** Returns what is to be settled: what was asked for, and what was written for another group than the one that came to have it. */
  onAcknowledged(references: readonly string[]): string[] {
    const unresolved: string[] = []
    for (const reference of references) {
      if (this.#references.get(reference)?.isDeferred === true) unresolved.push(reference)
      this.#delete(reference)
    }
    for (const reference of references) {
      for (const other of this.#blobs.get(blobOfReference(reference)) ?? []) {
        if (this.isByWriter(other) && this.abandon(other)) unresolved.push(other)
      }
    }
    return unresolved
  }

  /** Nobody will use it any more: it is to be settled. False where a transaction uses it, or may have, or it is not here. */
  abandon(reference: string): boolean {
    if (this.#references.get(reference)?.users.size !== 0) return false
    this.#delete(reference)
    return true
  }

  /** The same of what a blob was written for, by its writer. Returns what is to be settled. */
  abandonBlob(blobId: string): readonly string[] {
    return [...(this.#blobs.get(blobId) ?? [])].filter(
      reference => this.isByWriter(reference) && this.abandon(reference),
    )
  }

  isByWriter(reference: string): boolean {
    return this.#references.get(reference)?.isByWriter === true
  }

  #delete(reference: string): void {
    if (!this.#references.delete(reference)) return
    const blob = blobOfReference(reference)
    const others = this.#blobs.get(blob)!
    others.delete(reference)
    if (others.size === 0) this.#blobs.delete(blob)
  }
}
