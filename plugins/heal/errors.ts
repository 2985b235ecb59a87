/** Errors of heal jobs. */
import { defineErrors } from 'svc/kernel'

export const healErrors = defineErrors({
  heal_job_not_found: { status: 404, title: 'There is no such heal job.' },
  not_implemented: {
    status: 501,
    title: 'This deployment has a single drive: there are no shards to heal from.',
  },
})
