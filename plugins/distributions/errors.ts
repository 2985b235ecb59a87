import { defineErrors } from 'svc/kernel'

export const distributionErrors = defineErrors({
  alias_conflict: { status: 409, title: 'The server answers this name already.' },
  distribution_not_found: { status: 404, title: 'There is no such distribution.' },
  key_group_not_found: { status: 404, title: 'There is no such key group.' },
  invalid_distribution: { status: 400, title: 'The distribution is not valid.' },
})
