import { defineErrors } from 'svc/kernel'

/** Codes and statuses of the Admin API. */
export const usersErrors = defineErrors({
  invalid_argument: { status: 400, title: 'An argument is not valid.' },
  malformed_policy: { status: 400, title: 'The policy is not valid.' },
  access_denied: { status: 403, title: 'These credentials may not do this.' },
  user_not_found: { status: 404, title: 'There is no such user.' },
  group_not_found: { status: 404, title: 'There is no such group.' },
  policy_not_found: { status: 404, title: 'There is no such policy.' },
  share_not_found: { status: 404, title: 'There is no such share link.' },
  access_key_not_found: { status: 404, title: 'There is no such access key.' },
  already_exists: { status: 409, title: 'The name is taken.' },
  conflict: { status: 409, title: 'The state of the resource does not allow this.' },
  too_many_access_keys: { status: 409, title: 'The user has as many access keys as it may have.' },
  builtin_policy: { status: 409, title: 'Built-in policies cannot be changed.' },
  policy_in_use: { status: 409, title: 'The policy is attached to users or groups.' },
  group_not_empty: { status: 409, title: 'The group has members.' },
  precondition_failed: { status: 412, title: 'It was changed by somebody else.' },
  busy: { status: 503, title: 'Too many changes at once. Try again.' },
})

/** These errors have the name, because a request may contain several. */
export const noUser = (name: string): Error =>
  usersErrors.user_not_found(`There is no user "${name}".`, { extra: { User: name } })

export const noGroup = (name: string): Error =>
  usersErrors.group_not_found(`There is no group "${name}".`, { extra: { Group: name } })

export const noPolicy = (name: string): Error =>
  usersErrors.policy_not_found(`There is no policy "${name}".`, { extra: { Policy: name } })

export const noShare = (id: string): Error =>
  usersErrors.share_not_found(`There is no share link "${id}".`, { extra: { Share: id } })

export const noAccessKey = (accessKey: string): Error =>
  usersErrors.access_key_not_found(`There is no access key "${accessKey}".`, { extra: { AccessKey: accessKey } })

/** Not 401, because the caller is authenticated. */
export const wrongOwnSecret = () => usersErrors.access_denied('The current secret key is wrong.')

/** `argument`: the field of the request that is at fault. `flaw`: a sentence without subject and full stop. */
export const invalidArgument = (argument: string, flaw: string): Error =>
  usersErrors.invalid_argument(`${argument} ${flaw}.`, {
    extra: { Argument: argument },
    cause: [{ element: `/${argument}`, message: flaw }],
  })
