/**
 * What was being uploaded, kept by the browser so that it can go on after a reload. A page cannot keep the files themselves: somebody
 * chooses them again, and what has arrived is not sent twice. Every file of a batch stays known until all of it has arrived, so that a
 * folder that is chosen again sends only its rest.
 */

export interface Entry {
  /** Access key of whoever began it. */
  readonly user: string
  /** The page that sends it. */
  readonly page: string
  readonly bucket: string
  readonly key: string
  readonly sizeBytes: number
  readonly modifiedMs: number
  /** Of an upload in parts that has begun. */
  readonly uploadId?: string
  readonly isDone: boolean
}

const storeName = 'uploads'
let database: Promise<IDBDatabase> | undefined

function open(): Promise<IDBDatabase> {
  database ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('svc-console', 1)
    request.onupgradeneeded = () => request.result.createObjectStore(storeName, { keyPath: ['user', 'bucket', 'key'] })
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  return database
}

/** A browser that keeps nothing (a private window, a full disk) uploads all the same. */
async function change(work: (store: IDBObjectStore) => void): Promise<void> {
  try {
    const transaction = (await open()).transaction(storeName, 'readwrite')
    work(transaction.objectStore(storeName))
    await new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onerror = transaction.onabort = () => reject(transaction.error)
    })
  } catch {
    database = undefined
  }
}

/** Replaces what is known of these. */
export function writeEntries(entries: readonly Entry[]): Promise<void> {
  return change(store => {
    for (const entry of entries) store.put(entry)
  })
}

export function removeEntries(entries: readonly Pick<Entry, 'user' | 'bucket' | 'key'>[]): Promise<void> {
  return change(store => {
    for (const { user, bucket, key } of entries) store.delete([user, bucket, key])
  })
}

/** What this user left behind in earlier pages. */
export async function readEntries(user: string): Promise<Entry[]> {
  try {
    const store = (await open()).transaction(storeName, 'readonly').objectStore(storeName)
    const request: IDBRequest<Entry[]> = store.getAll(IDBKeyRange.bound([user], [user, []]))
    return await new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
  } catch {
    return []
  }
}
