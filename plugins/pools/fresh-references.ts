/**
 * Fresh references: blob references (see blob-references.ts) whose remote reference, which protects the blob in its set, was written in this
 * run of the server, and that no acknowledged record uses yet. In the storage thread. A transaction may use only these, and references
 * that a record has already.
 *
 * | State | Event | Next |
 * |---|---|---|
 * | requested: the write of the remote reference is not acknowledged yet | it is acknowledged | acquired |
 * | | it fails | removed from here |
 * | acquired | a transaction uses it | used |
 * | | it is abandoned, since nobody will use it | removed from here |
 * | used by transactions | one is acknowledged: the record has the reference | removed from here |
 * | | one is refused | no longer used by that one |
 * | | the outcome of one is in doubt, and no other uses it | removed from here |
 *
 * While a reference is here, its remote reference is not deleted. To *resolve* a reference is to find out whether any record has it, and to
 * delete its remote reference if none does; that is deferred while the reference is here. `ReferenceReleaser` resolves what is removed
 * from here without a record, and what was deferred. After a transaction in doubt the record set answers once it has a write quorum again:
 * then it has the change of that transaction, or will never have it.
 */
import { blobOfReference } from './blob-references.ts'

/** Never reached in practice. Beyond it the oldest are dropped, and transactions that want to use these are refused. */
const referencesMax = 100_000

interface Fresh {
  readonly size: number
  /** Acquired by the writer of the blob, not for a commit that turned out to need it. */
  readonly isByWriter: boolean
  /** Number of the acquisition that created this entry. */
  readonly since: number
  isAcquired: boolean
  /** Its resolution was deferred while it was fresh: it is resolved when it leaves. */
  isDeferred: boolean
  /** Transactions under way that use it. */
  readonly users: Set<object>
}

export class FreshReferences {
  readonly #references = new Map<string, Fresh>()
  /** By blob. */
  readonly #blobs = new Map<string, Set<string>>()
  #lastAcquisition = 0

  /** Acquisitions are numbered from 1 in each run. */
  get lastAcquisition(): number {
    return this.#lastAcquisition
  }

  /** To be called each time the remote reference is written. Returns the number of the acquisition. */
  add(reference: string, size: number, isByWriter: boolean): number {
    const number = ++this.#lastAcquisition
    if (this.#references.has(reference)) return number
    if (this.#references.size >= referencesMax) this.#delete(this.#references.keys().next().value!)
    // Only its writer knows of a new blob, so nobody uses the reference before it is acknowledged.
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

  /** The acquisition is acknowledged. False if the reference was used or abandoned in the meantime. */
  confirm(reference: string, number: number): boolean {
    const found = this.#references.get(reference)
    if (found === undefined || found.since > number) return false
    found.isAcquired = true
    return true
  }

  /** True if the reference is fresh: then it cannot be resolved yet, and is resolved when it leaves. */
  deferResolve(reference: string): boolean {
    const found = this.#references.get(reference)
    if (found === undefined) return false
    found.isDeferred = true
    return true
  }

  /** Size of a blob that has any fresh reference. */
  sizeOf(blobId: string): number | undefined {
    const [reference] = this.#blobs.get(blobId) ?? []
    return reference === undefined ? undefined : this.#references.get(reference)?.size
  }

  /** A transaction uses it. False if it is not acquired or not fresh. */
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

  /** The transaction may have been made. Returns references to resolve. */
  onInDoubt(references: readonly string[], user: object): string[] {
    this.onRefused(references, user)
    return references.filter(reference => this.abandon(reference))
  }

  /** Returns references to resolve: those that were deferred, and those that the writers of the blobs acquired for other groups. */
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

  /** Nobody will use it: it is to be resolved. False if a transaction uses it, or it is not fresh. */
  abandon(reference: string): boolean {
    if (this.#references.get(reference)?.users.size !== 0) return false
    this.#delete(reference)
    return true
  }

  /** Abandons the references that the writer of a blob has acquired. Returns those that are to be resolved. */
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
