/** What stands at a key now. */
import { call } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'

/** Null: nothing is there; undefined: it cannot be told to the caller. */
export async function etagAt(bucket: string, key: string, versionId?: string): Promise<string | null | undefined> {
  const query = { key, ...(versionId !== undefined && { versionId }) }
  try {
    const { etag, isDeleteMarker } = await call('statObject', { params: { bucket }, query })
    return isDeleteMarker ? null : etag
  } catch (error) {
    if (error instanceof Problem && error.code === 'object_not_found') return null
    if (error instanceof Problem && error.status > 0 && error.status < 500 && error.status !== 429) return undefined
    throw error
  }
}
