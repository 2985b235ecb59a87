import { hash } from 'node:crypto'
import { adminErrors } from 'svc/plugins/admin/api'
import type { Tags } from 'svc/plugins/objects/api'
import { canonicalJson } from 'svc/plugins/sealing/api'

/** The ETag of a set of tags: as that of documents, 32 hexadecimal digits. */
export function etagOfTags(tags: Tags | undefined): string {
  return hash('sha256', canonicalJson({ tags: Object.fromEntries(tags ?? []) })).slice(0, 32)
}

/** For a change of these tags with `If-Match`. Throws `precondition_failed` unless the present tags are those that it names. */
export function expectTags(present: Tags | undefined, ifMatch: string | undefined): { readonly ifTags?: Tags } {
  if (ifMatch === undefined || ifMatch === '*') return {}
  if (etagOfTags(present) !== ifMatch) throw adminErrors.precondition_failed()
  // Compared again when the change is made.
  return { ifTags: present ?? new Map() }
}
