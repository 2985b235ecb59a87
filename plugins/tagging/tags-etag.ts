import { adminErrors } from 'svc/plugins/admin/api'
import { etagOfField, noTags, type Tags } from 'svc/plugins/objects/api'

/** The ETag of a set of tags: the same for an object and for a bucket. */
export const etagOfTags = (tags: Tags = noTags): string => etagOfField({ tags }, 'tags')

/** For a change of these tags with `If-Match`. Throws `precondition_failed` unless the present tags are those that it names. */
export function expectTags(present: Tags | undefined, ifMatch: string | undefined): { readonly ifTags?: Tags } {
  if (ifMatch === undefined || ifMatch === '*') return {}
  if (etagOfTags(present) !== ifMatch) throw adminErrors.precondition_failed()
  // Compared again when the change is made.
  return { ifTags: present ?? new Map() }
}
