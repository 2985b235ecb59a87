/** Bulk deletes in few commits. */
import type { StorageService } from 'svc/plugins/storage/api'
import type { DeleteItem, DeleteOutcome } from './api.ts'
import type { DeleteObjectsArgs } from './commit.ts'
import type { PackedOrigin } from './events.ts'

/** Items per commit: enough to share its cost, few enough not to delay others. */
const itemsPerCommit = 128

/** Outcomes are in the order of the items. A key named twice is deleted twice, in that order. */
export async function deleteObjects(
  storage: StorageService,
  bucket: string,
  items: readonly DeleteItem[],
  origin: PackedOrigin | undefined,
): Promise<readonly DeleteOutcome[]> {
  // Commits are made in the order of these calls.
  const outcomes = await Promise.all(
    inCommits(items).map(group =>
      storage.execute<DeleteOutcome[]>('objects.deleteObjects', {
        bucket,
        items: group,
        origin,
      } satisfies DeleteObjectsArgs),
    ),
  )
  return outcomes.flat()
}

/** Groups of consecutive items without a repeated key. */
function inCommits(items: readonly DeleteItem[]): DeleteItem[][] {
  const groups: DeleteItem[][] = []
  let group: DeleteItem[] = []
  const keys = new Set<string>()
  for (const item of items) {
    if (group.length === itemsPerCommit || keys.has(item.key)) {
      groups.push(group)
      group = []
      keys.clear()
    }
    group.push(item)
    keys.add(item.key)
  }
  if (group.length > 0) groups.push(group)
  return groups
}
