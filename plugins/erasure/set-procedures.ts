/**
 * The procedures that a set runs on its drives, each under the drive's own commit lock. `ErasureSet` calls most of them;
 * `catching-up.ts`, `healing.ts` and `repair-loop.ts` the rest.
 *
 * | Procedure | Runs on | What it does |
 * |---|---|---|
 * | stage | every drive | stores a shard of a body that has no record yet |
 * | unstage | every drive | deletes staged shards whose record was never committed |
 * | promise | every drive | stores the epoch that a leader claims, so that no two leaders have the same |
 * | run | the leader | runs a procedure of the storage's user, and numbers its change |
 * | describe | the leader | writes the set document, and the least parity if it has decreased |
 * | mark | the leader | updates in records which drives have their shards |
 * | show | the leader | reads records at this point of the order of changes; changes nothing |
 * | apply | the followers | replays the operations of a change |
 * | adopt | a drive that catches up | stores records as the leader showed them |
 * | clearNotes | any drive | deletes notes of missing shards after records mention these shards |
 * | probe | any drive | rewrites a record that it has, to show that it can still write |
 */
import type { Procedure, StoredRecord, Transaction } from 'svc/plugins/storage/api'
import { storageErrors } from 'svc/plugins/storage/api'
import { decodeLeastParity, encodeLeastParity, leastParityKey } from './least-parity.ts'
import {
  compareProgress,
  decodeProgress,
  encodeEpoch,
  encodeProgress,
  encodeRingEntry,
  noProgress,
  type Progress,
} from './set-document.ts'
import {
  notedKey,
  progressKey,
  promiseKey,
  ringKey,
  ringSize,
  setKey,
  stagedKey,
  tableByte,
  unfinishedKey,
} from './set-keys.ts'
import {
  decodeIdentity,
  encodeIdentity,
  generationsOf,
  hasShards,
  headOf,
  identityOf,
  isSameBody,
  type RecordHead,
  withGenerations,
} from './set-record.ts'
import {
  type BodySource,
  blobIdsOf,
  isStagedFor,
  type KnownBlob,
  type Operation,
  SetTransaction,
  type StagedBody,
} from './set-transaction.ts'
import { idsInSlot } from './set-view.ts'

export const procedure = {
  stage: 'erasure.stage',
  unstage: 'erasure.unstage',
  run: 'erasure.run',
  mark: 'erasure.mark',
  show: 'erasure.show',
  apply: 'erasure.apply',
  adopt: 'erasure.adopt',
  describe: 'erasure.describe',
  promise: 'erasure.promise',
  clearNotes: 'erasure.clearNotes',
  probe: 'erasure.probe',
} as const

export interface RunArgs {
  readonly name: string
  readonly args: unknown
  readonly body: Uint8Array | undefined
  readonly staged: StagedBody | undefined
  readonly epoch: number
  /** Slot of the drive that runs it. */
  readonly slot: number
}

/** A change that the leader has made. */
export interface Change {
  /** Progress of the set before this change. */
  readonly before: Progress
  readonly progress: Progress
  readonly operations: readonly Operation[]
}

export interface RunResult {
  readonly result: unknown
  /** Undefined if nothing was changed. */
  readonly change: Change | undefined
}

/** Which drives have the shards of one record. */
export interface Mark {
  readonly key: Buffer
  /** Identity of the data that the record must still have; otherwise the mark is ignored. */
  readonly identity: number
  /** By slot: generation of the drive that has its shards, or 0 if the slot lacks them. */
  readonly changes: ReadonlyMap<number, number>
  /** Rebuilt shards of the body, one on the drive of each of these slots, staged under this id. */
  readonly staged?: { readonly id: string; readonly slots: readonly number[] }
}

export interface MarkArgs {
  readonly marks: readonly Mark[]
  readonly epoch: number
  /** Slot of the drive that runs it. */
  readonly slot: number
}

export interface MarkResult extends RunResult {
  /** How many records still had the expected data. */
  readonly result: number
}

/** A record as the leader has it; undefined if it has none. */
export interface Shown {
  readonly key: Buffer
  readonly record: Buffer | undefined
}

export interface ShowResult {
  readonly shown: readonly Shown[]
  readonly progress: Progress
}

export interface DescribeArgs {
  readonly document: Buffer
  readonly leastParityCount: number
  readonly epoch: number
}

export interface ApplyArgs extends Change {
  readonly slot: number
  /** Generation of the drive in the slot. */
  readonly generation: number
  /** The drive lacks earlier changes, so this one does not advance its progress. */
  readonly isCatchingUp: boolean
  /** If it is catching up: the change that it was sent before this one, if any. */
  readonly lastSent: Progress | undefined
}

/** A record says that a drive has its shard, and the drive lacks it: the record has to be marked. */
export interface ShardNote {
  readonly key: Buffer
  readonly identity: number
}

export interface AdoptArgs {
  readonly slot: number
  /** Generation of the drive in the slot: statements of records about an earlier drive need no correction. */
  readonly generation: number
  readonly shown: readonly Shown[]
  /** The last change that the drive was sent while it catches up, if any. */
  readonly lastSent: Progress | undefined
  /** Ids under which shards of these records may be staged, by the identity of the data. */
  readonly staged?: ReadonlyMap<number, string>
  /** With the last records: the progress that the drive has then. */
  readonly progress: Progress | undefined
  /** With all but the last records: epoch of the leader that showed them. */
  readonly unfinished?: number
}

const nothing = Buffer.alloc(0)

/** The drive's transaction with blob ids translated to those of its slot. */
function inSlot(tx: Transaction, slot: number): Transaction {
  return {
    sequence: tx.sequence,
    nowMs: tx.nowMs,
    get: key => tx.get(key),
    first: (start, end) => tx.first(start, end),
    put: (key, value, options) =>
      tx.put(
        key,
        value,
        options?.blobs === undefined ? options : { ...options, blobs: idsInSlot(options.blobs, slot) },
      ),
    delete: key => tx.delete(key),
    counter: key => tx.counter(key),
  }
}

/** Wraps an error that a procedure of the storage's user threw: nothing is wrong with the drive. */
export class Refusal extends Error {
  constructor(cause: unknown) {
    super('a procedure refused', { cause })
  }
}

function runOne(
  run: Procedure | undefined,
  name: string,
  tx: Transaction,
  args: unknown,
  body: Uint8Array | undefined,
): unknown {
  try {
    if (run === undefined) throw new Error(`No procedure ${JSON.stringify(name)} is defined.`)
    return run(tx, args, body)
  } catch (error) {
    throw new Refusal(error)
  }
}

function progressOf(tx: Transaction): Progress {
  const record = tx.get(progressKey)
  return record === undefined ? noProgress : decodeProgress(record.value)
}

/** Sequences are numbered as those of a drive: milliseconds since 1970 × 2048 + counter. */
const sequencesPerMs = 2048

/** The set's own records. Without them no leader can be chosen, and nothing deleted, where all drives are full. */
const upkeep = { isUpkeep: true }

/** Stores the new progress, and in the ring the keys that the change wrote. Returns the change for the followers. */
function number(tx: Transaction, progress: Progress, operations: readonly Operation[]): Change | undefined {
  if (operations.length === 0) return undefined
  const before = progressOf(tx)
  tx.put(progressKey, encodeProgress(progress), upkeep)
  remember(tx, progress, operations)
  return { before, progress, operations }
}

/** Puts a record that has no shards. */
function put(tx: Transaction, key: Buffer, record: Buffer): Operation {
  tx.put(key, record, key[0] === tableByte ? upkeep : undefined)
  return { kind: 'put', key, record, bodySource: undefined, blobs: [] }
}

function remember(tx: Transaction, progress: Progress, operations: readonly Operation[]): void {
  tx.put(
    ringKey(progress.index),
    encodeRingEntry(
      progress,
      operations.map(({ key }) => key),
      stagedIdOf(operations),
    ),
    upkeep,
  )
}

/** An earlier change failed on this drive while this request was on its way. */
function lacksEarlier() {
  return storageErrors.unavailable('The drive lacks an earlier change.')
}

/** For a drive that catches up, whose progress says nothing of the changes that it is sent meanwhile. Each of them has an entry in its ring. */
function requireSent(tx: Transaction, lastSent: Progress | undefined): void {
  if (lastSent === undefined) return
  const entry = tx.get(ringKey(lastSent.index))
  if (entry === undefined || compareProgress(decodeProgress(entry.value), lastSent) !== 0) throw lacksEarlier()
}

/** Stores that the drive has changes beyond its progress. `adopt` or `describe` removes this. */
function begin(tx: Transaction, epoch: number): void {
  if (tx.get(unfinishedKey) === undefined) tx.put(unfinishedKey, encodeEpoch(epoch), upkeep)
}

function stagedIdOf(operations: readonly Operation[]): string {
  for (const operation of operations) {
    if (operation.kind === 'put' && operation.bodySource?.staged !== undefined) return operation.bodySource.staged
  }
  return ''
}

export interface SetProceduresOptions {
  readonly procedures: Readonly<Record<string, Procedure>>
  readonly slotCount: number
  /** Of the set. */
  parityCount(): number
  freshBlob(id: string): KnownBlob | undefined
}

export function createSetProcedures(options: SetProceduresOptions): Readonly<Record<string, Procedure>> {
  const { procedures, slotCount, parityCount, freshBlob } = options
  // Shared by all drives that lead in this process: a sequence that one of them used may be on no other drive.
  let lastSequence = 0
  const nextProgress = (tx: Transaction, epoch: number): Progress => {
    const { index, sequence } = progressOf(tx)
    lastSequence = Math.max(sequence + 1, lastSequence + 1, tx.nowMs * sequencesPerMs)
    return { epoch, index: index + 1, sequence: lastSequence }
  }
  return {
    [procedure.stage]: (tx: Transaction, { id }: { id: string }, shard: Uint8Array | undefined) => {
      tx.put(stagedKey(id), nothing, { body: shard })
    },
    [procedure.unstage]: (tx: Transaction, ids: readonly string[]) => {
      for (const id of ids) if (tx.get(stagedKey(id)) !== undefined) tx.delete(stagedKey(id))
    },
    [procedure.run]: (tx: Transaction, { name, args, body, staged, epoch, slot }: RunArgs): RunResult => {
      const progress = nextProgress(tx, epoch)
      const { sequence } = progress
      const inSet = new SetTransaction({
        tx: inSlot(tx, slot),
        sequence,
        body,
        staged,
        slotCount,
        parityCount: parityCount(),
        freshBlob,
      })
      const result = runOne(procedures[name], name, inSet, args, body)
      return { result, change: number(tx, progress, inSet.operations) }
    },
    [procedure.mark]: (drive: Transaction, { marks, epoch, slot }: MarkArgs): MarkResult => {
      const tx = inSlot(drive, slot)
      const operations: Operation[] = []
      let count = 0
      for (const mark of marks) if (markRecord(tx, mark, slot, operations)) count++
      return { result: count, change: number(tx, nextProgress(tx, epoch), operations) }
    },
    [procedure.show]: (tx: Transaction, keys: readonly Buffer[]): ShowResult => ({
      shown: keys.map(key => {
        const found = tx.get(key)
        return { key, record: found === undefined ? undefined : Buffer.from(found.value) }
      }),
      progress: progressOf(tx),
    }),
    [procedure.apply]: (drive: Transaction, args: ApplyArgs): ShardNote[] => {
      const { operations, before, progress, isCatchingUp, lastSent } = args
      const tx = inSlot(drive, args.slot)
      if (isCatchingUp) requireSent(tx, lastSent)
      else if (compareProgress(progressOf(tx), before) !== 0) throw lacksEarlier()
      const notes: ShardNote[] = []
      for (const operation of operations) applyOperation(tx, operation, args, notes)
      remember(tx, progress, operations)
      if (isCatchingUp) begin(tx, progress.epoch)
      else tx.put(progressKey, encodeProgress(progress), upkeep)
      return notes
    },
    [procedure.adopt]: (drive: Transaction, args: AdoptArgs): ShardNote[] => {
      const { progress, unfinished, slot, lastSent } = args
      const tx = inSlot(drive, slot)
      requireSent(tx, lastSent)
      const notes = adopt(tx, args)
      if (unfinished !== undefined) begin(tx, unfinished)
      if (progress !== undefined) {
        tx.put(progressKey, encodeProgress(progress), upkeep)
        if (tx.get(unfinishedKey) !== undefined) tx.delete(unfinishedKey)
      }
      return notes
    },
    [procedure.promise]: (tx: Transaction, epoch: number) => {
      tx.put(promiseKey, encodeEpoch(epoch), upkeep)
    },
    [procedure.clearNotes]: (tx: Transaction, notes: readonly ShardNote[]) => {
      for (const { key, identity } of notes) {
        const noted = tx.get(notedKey(key))
        if (noted !== undefined && decodeIdentity(noted.value) === identity) tx.delete(notedKey(key))
      }
    },
    [procedure.probe]: (tx: Transaction) => {
      const key = tx.get(promiseKey) === undefined ? setKey : promiseKey
      const found = tx.get(key)
      if (found !== undefined) tx.put(key, Buffer.from(found.value))
    },
    [procedure.describe]: (tx: Transaction, { document, leastParityCount, epoch }: DescribeArgs): RunResult => {
      const operations = [put(tx, setKey, document)]
      const noted = tx.get(leastParityKey)
      if (noted === undefined || decodeLeastParity(noted.value) > leastParityCount) {
        operations.push(put(tx, leastParityKey, encodeLeastParity(leastParityCount)))
      }
      const next = nextProgress(tx, epoch)
      if (tx.get(unfinishedKey) === undefined) return { result: undefined, change: number(tx, next, operations) }
      // The ring does not list what this drive has beyond its progress. A gap in the index makes followers compare all records.
      tx.delete(unfinishedKey)
      const progress = { ...next, index: next.index + ringSize }
      return { result: undefined, change: number(tx, progress, operations) }
    },
  }
}

/** A drive of the set, as records name it. */
interface Place {
  readonly slot: number
  readonly generation: number
}

function applyOperation(tx: Transaction, operation: Operation, place: Place, notes: ShardNote[]): void {
  const { key } = operation
  if (operation.kind === 'delete') {
    if (tx.get(key) !== undefined) tx.delete(key)
    return
  }
  const { record, bodySource, blobs } = operation
  if (bodySource === undefined) tx.put(key, record, { blobs, isUpkeep: key[0] === tableByte })
  else putShard(tx, operation, bodySource, place, notes)
}

/**
 * Stores a record with the drive's shard, if it has one. A drive that was offline or full may have no shard where the others have
 * theirs, or the shard of other data.
 */
function putShard(
  tx: Transaction,
  { key, record, blobs }: { readonly key: Buffer; readonly record: Buffer; readonly blobs: readonly string[] },
  source: BodySource,
  { slot, generation }: Place,
  notes: ShardNote[],
): void {
  const isStaged = isStagedFor(source, slot)
  const from = isStaged ? stagedKey(source.staged!) : source.key
  const found = from === undefined ? undefined : tx.get(from)
  const isExpected = generationsOf(record)[slot] === generation
  // Whether the record lists the shard as missing is ignored: the record may be older than the shard.
  const hasShard = found?.body !== undefined && (isStaged || isSameBody(found.value, record))
  tx.put(key, record, hasShard ? { bodyOf: from, blobs } : { blobs })
  if (isStaged && found !== undefined) tx.delete(from!)
  if (isExpected && !hasShard) note(tx, { key, identity: identityOf(record) }, notes)
}

/** Stores a note that stays until the record lists the shard as missing: after a crash nothing else would tell. */
function note(tx: Transaction, each: ShardNote, notes: ShardNote[]): void {
  tx.put(notedKey(each.key), encodeIdentity(each.identity))
  notes.push(each)
}

/** Id under which a shard is staged while catching up: a body may move from one record to another, and its shard with it. */
function parkedId(record: Uint8Array): string {
  const { identity, bodyCheck, bodyBytes } = headOf(record)
  return `=${identity} ${bodyCheck} ${bodyBytes}`
}

/** Stores records as the leader showed them; keeps the drive's own shards where they are of the same data. */
function adopt(tx: Transaction, args: AdoptArgs): ShardNote[] {
  const { shown, staged } = args
  const notes: ShardNote[] = []
  for (const { key, record } of shown) {
    // The set's own records have no head.
    if (key[0] === tableByte) continue
    const own = tx.get(key)
    if (own?.body === undefined || (record !== undefined && isSameBody(own.value, record))) continue
    const parked = stagedKey(parkedId(own.value))
    tx.put(parked, nothing, { bodyOf: key })
    tx.delete(key)
  }
  for (const { key, record } of shown) adoptOne(tx, key, record, staged, args, notes)
  return notes
}

function adoptOne(
  tx: Transaction,
  key: Buffer,
  record: Buffer | undefined,
  stagedIds: AdoptArgs['staged'],
  place: Place,
  notes: ShardNote[],
): void {
  const own = tx.get(key)
  if (record === undefined) {
    if (own !== undefined) tx.delete(key)
    return
  }
  if (key[0] === tableByte) {
    tx.put(key, record, upkeep)
    return
  }
  const head = headOf(record)
  const blobs = blobIdsOf(head)
  if (head.body !== 'sharded') {
    // Must be evaluated before the put, which invalidates `own`.
    const isExpected = blobs.length > 0 && head.generations[place.slot] === place.generation
    const isMissing = isExpected && !hadBlobs(tx, key, own, head, place)
    tx.put(key, record, { blobs })
    // Without a reference in this drive's records the shards may never have been written, or were collected as garbage.
    if (isMissing) note(tx, { key, identity: head.identity }, notes)
    return
  }
  const isOwn = own?.body !== undefined && isSameBody(own.value, record)
  const parked = parkedId(record)
  const isParked = !isOwn && tx.get(stagedKey(parked)) !== undefined
  const staged = isOwn ? undefined : isParked ? parked : stagedIds?.get(head.identity)
  putShard(tx, { key, record, blobs }, { key: isOwn ? key : undefined, staged, stagedSlots: undefined }, place, notes)
}

/** Whether this drive referenced the blobs of a record before, and had its shards of them. */
function hadBlobs(
  tx: Transaction,
  key: Buffer,
  own: StoredRecord | undefined,
  { identity }: RecordHead,
  { slot, generation }: Place,
): boolean {
  if (own === undefined || identityOf(own.value) !== identity) return false
  return generationsOf(own.value)[slot] === generation && tx.get(notedKey(key)) === undefined
}

function markRecord(tx: Transaction, mark: Mark, slot: number, operations: Operation[]): boolean {
  const { key, identity, changes, staged } = mark
  const found = tx.get(key)
  if (found === undefined || identityOf(found.value) !== identity) return false
  const head = headOf(found.value)
  if (!hasShards(head)) return false
  const generations = Uint8Array.from(head.generations, (generation, at) => changes.get(at) ?? generation)
  const record = withGenerations(found.value, generations)
  const blobs = blobIdsOf(head)
  const bodySource = head.body === 'sharded' ? { key, staged: staged?.id, stagedSlots: staged?.slots ?? [] } : undefined
  const operation = { kind: 'put', key, record, bodySource, blobs } as const
  // No note: a shard that this drive lacks now was missing before, and the next reader reports it.
  applyOperation(tx, operation, { slot, generation: generations[slot]! }, [])
  operations.push(operation)
  return true
}
