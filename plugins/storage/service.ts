/**
 * The implementation of the service `storage`: collects declarations during set-up, then forwards all calls to the configured
 * backend.
 */
import type { Derive, Procedure, StorageBackend, StorageService } from './api.ts'
import { storageErrors } from './errors.ts'

export interface StorageFront {
  readonly service: StorageService
  readonly procedures: Readonly<Record<string, Procedure>>
  /** Calls the plugins' derivations by the first byte of the key. */
  readonly derive: Derive
  /** Ends the set-up phase and forwards calls to this backend. */
  connect(backend: StorageBackend): void
  disconnect(): void
  /** Sets the implementation of the service's `peek` and `peekScan`. */
  setPeek(peek: Pick<StorageService, 'peek' | 'peekScan'>): void
}

/** Tables from here on belong to the backend. */
const backendTablesStart = 0xfe

export function createStorageFront(): StorageFront {
  const procedures: Record<string, Procedure> = Object.create(null)
  const derives: (Derive | undefined)[] = new Array(256).fill(undefined)
  let backend: StorageBackend = notStarted()
  let isOpen = true
  const refusePeek = async (): Promise<never> => {
    throw storageErrors.unavailable('the stored data, because nothing has checked the storage')
  }
  let peeking: Pick<StorageService, 'peek' | 'peekScan'> = { peek: refusePeek, peekScan: refusePeek }

  const requireSetUp = (): void => {
    if (!isOpen) throw new Error('storage: procedures and derivations are declared during set-up')
  }

  return {
    procedures,
    derive(key, before, after, emit) {
      derives[key[0]!]?.(key, before, after, emit)
    },
    connect(connected) {
      isOpen = false
      backend = connected
    },
    disconnect() {
      backend = notStarted()
    },
    setPeek(given) {
      peeking = given
    },
    service: {
      define(added) {
        requireSetUp()
        for (const [name, procedure] of Object.entries(added)) {
          if (procedures[name] !== undefined) throw new Error(`storage: the procedure ${name} is defined twice`)
          procedures[name] = procedure
        }
      },
      derive(tableByte, derive) {
        requireSetUp()
        if (!Number.isInteger(tableByte) || tableByte < 0 || tableByte > backendTablesStart - 1) {
          throw new RangeError('storage: a table is named by one byte, 0x00 to 0xfd')
        }
        if (derives[tableByte] !== undefined) {
          throw new Error(`storage: table 0x${tableByte.toString(16).padStart(2, '0')} is derived from twice`)
        }
        derives[tableByte] = derive
      },
      peek: key => peeking.peek(key),
      peekScan: (start, end, visit) => peeking.peekScan(start, end, visit),
      execute: (procedure, args, body, options) => backend.execute(procedure, args, body, options),
      get: key => backend.get(key),
      scan: (start, end, visit) => backend.scan(start, end, visit),
      scanDerived: (start, end, visit) => backend.scanDerived(start, end, visit),
      counter: key => backend.counter(key),
      counters: (start, end, limit) => backend.counters(start, end, limit),
      readBody: ref => backend.readBody(ref),
      createBlob: (sizeHint, options) => backend.createBlob(sizeHint, options),
      pinBlobs: refs => backend.pinBlobs(refs),
      readBlob: (ref, start, length) => backend.readBlob(ref, start, length),
      get inlineBytesMax() {
        return backend.inlineBytesMax
      },
      drives: () => backend.drives(),
    },
  }
}

/** Stands in for the backend before `start` and after `stop`: refuses every call. */
function notStarted(): StorageBackend {
  const refuse = (): never => {
    throw storageErrors.unavailable('The storage has not been started, or has been stopped.')
  }
  const reject = async (): Promise<never> => refuse()
  return {
    start: reject,
    stop: async () => undefined,
    execute: reject,
    get: refuse,
    scan: refuse,
    scanDerived: refuse,
    counter: refuse,
    counters: refuse,
    readBody: refuse,
    createBlob: refuse,
    pinBlobs: refuse,
    readBlob: refuse,
    inlineBytesMax: 0,
    drives: () => [],
  }
}
