import { defineErrors } from 'svc/kernel'
import { adminErrors } from 'svc/plugins/admin/api'
import type { KeyGroup } from './api.ts'

/** Codes and statuses of the Admin API. */
export const keyGroupErrors = defineErrors({
  invalid_argument: { status: 400, title: 'This cannot be signed.' },
  invalid_key_group: { status: 400, title: 'The key group is not valid.' },
  key_group_not_found: { status: 404, title: 'There is no such key group.' },
  key_not_found: { status: 404, title: 'The key group has no such key.' },
  already_exists: { status: 409, title: 'A key group with that name already exists.' },
  key_group_in_use: { status: 409, title: 'A distribution needs the key group.' },
  precondition_failed: { status: 412, title: 'The key group has changed: its ETag is not that of If-Match.' },
  busy: { status: 503, title: 'Too many writers change this key group at once. Try again.' },
})

export const manage = 'admin:ManageDistributions'
/** Whoever has it can be everybody. */
export const manageUsers = 'admin:CreateUser'

/** Names neither the distribution, which the caller may not know, nor the user. */
export const notYours = ({ usedBy }: Pick<KeyGroup, 'usedBy'>): Error =>
  adminErrors.access_denied(
    usedBy.length > 0
      ? `A distribution of a bucket on which you do not have ${manage} uses the key group: its keys open that bucket, too.`
      : `Somebody else made the key group, and no distribution names it: until one does, it belongs to them and to those who have ${manageUsers}.`,
  )

export const noKeyGroup = (id: string): Error =>
  keyGroupErrors.key_group_not_found(`There is no key group "${id}".`, { extra: { KeyGroup: id } })

export const noKey = (group: string, keyId: string): Error =>
  keyGroupErrors.key_not_found(`The key group "${group}" has no key "${keyId}".`, {
    extra: { KeyGroup: group, Key: keyId },
  })
