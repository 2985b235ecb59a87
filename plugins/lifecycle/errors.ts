import { defineErrors } from 'svc/kernel'

/** Codes and statuses as AWS has them, and what a run can answer. */
export const lifecycleErrors = defineErrors({
  NoSuchLifecycleConfiguration: { status: 404, title: 'The lifecycle configuration does not exist', verbatim: true },
  conflict: { status: 409, title: 'The rules of this bucket are being applied already. Try again later.' },
})
