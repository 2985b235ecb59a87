/** Many deletes by few commits. */
import type { StorageService } from 'svc/plugins/storage/api'
import type { DeleteItem, DeleteOutcome } from './api.ts'
import type { DeleteObjectsArgs } from './commit.ts'
import type { PackedOrigin } from './events.ts'

/** Items of one commit: enough to share its cost, few enough that nobody else waits for it. */
const itemsPerCommit = 128

/** Outcomes are in the order of the items. A key that is named twice is deleted twice, in that order. */
export async function deleteObjects(
  storage: StorageService,
  bucket: string,
  items: readonly DeleteItem[],
  origin: PackedOrigin | undefined,
): Promise<readonly DeleteOutcome[]> {
  // Commits are made in the order in which they are asked for.
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

/** Consecutive items, no key twice in one commit. */
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
