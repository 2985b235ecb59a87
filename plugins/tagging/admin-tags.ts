/** Tags in bodies of the Admin API. */
import { checkField, invalidFields, placeIn } from 'svc/plugins/admin/api'
import type { Tags } from 'svc/plugins/objects/api'
import { collectTags, type TagOwner, tagProblems } from './tag-set.ts'

/** The tags at `/tags`. Throws `invalid_argument`, which names each tag that is at fault. */
export function readTags(tags: Readonly<Record<string, string>>, owner: TagOwner): Tags {
  const pairs = Object.entries(tags)
  const problems = tagProblems(pairs)
  if (problems.length > 0)
    throw invalidFields(problems.map(({ key, message }) => ({ element: placeIn('/tags', key), message })))
  return checkField('/tags', () => collectTags(pairs, owner))
}
