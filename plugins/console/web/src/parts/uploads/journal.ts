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
  /** The id of an upload in parts, once it has begun. */
  readonly uploadId?: string
  readonly isDone: boolean
}

const storeName = 'uploads'
const entriesAtOnce = 200
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
  return changeEach(entries, (store, entry) => store.put(entry))
}

export function removeEntries(entries: readonly Entry[]): Promise<void> {
  return changeEach(entries, (store, { user, bucket, key }) => store.delete([user, bucket, key]))
}

/** All that these pages of a user have left. */
export function removePages(user: string, pages: ReadonlySet<string>): Promise<void> {
  return change(store => {
    const request = store.openCursor(ofUser(user))
    request.onsuccess = () => {
      const cursor = request.result
      if (cursor === null) return
      if (pages.has((cursor.value as Entry).page)) cursor.delete()
      cursor.continue()
    }
  })
}

/** A few at a time: the page has other things to do. */
async function changeEach(
  entries: readonly Entry[],
  work: (store: IDBObjectStore, entry: Entry) => void,
): Promise<void> {
  for (let start = 0; start < entries.length; start += entriesAtOnce) {
    await change(store => {
      for (const entry of entries.slice(start, start + entriesAtOnce)) work(store, entry)
    })
  }
}

const ofUser = (user: string) => IDBKeyRange.bound([user], [user, []])

/** Entries that earlier pages of this user have left. */
export async function readEntries(user: string): Promise<Entry[]> {
  try {
    const store = (await open()).transaction(storeName, 'readonly').objectStore(storeName)
    const request: IDBRequest<Entry[]> = store.getAll(ofUser(user))
    return await new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result)
      request.onerror = () => reject(request.error)
    })
  } catch {
    return []
  }
}
