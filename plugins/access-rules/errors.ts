import { defineErrors } from 'svc/kernel'

/** Errors of the Admin API. */
export const accessRuleErrors = defineErrors({
  confirmation_required: {
    status: 400,
    title: 'This lets every client write into the bucket, without credentials: confirm it with "confirm": true.',
  },
  distribution_not_found: { status: 404, title: 'There is no such distribution.' },
  invalid_access_rule: { status: 400, title: 'An access rule is wrong; nothing was stored.' },
  public_access_blocked: {
    status: 403,
    title: 'Public access is blocked, and a rule allows something to everybody; nothing was stored.',
  },
  too_many_access_rules: { status: 400, title: 'The bucket would have too many access rules; nothing was stored.' },
  user_not_found: { status: 404, title: 'Nobody has this access key.' },
})
