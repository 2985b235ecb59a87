import { defineErrors } from 'svc/kernel'

/** Codes and statuses as on AWS, and the errors of a run. */
export const lifecycleErrors = defineErrors({
  NoSuchLifecycleConfiguration: { status: 404, title: 'The lifecycle configuration does not exist', verbatim: true },
  conflict: { status: 409, title: 'The rules of this bucket are already being applied. Try again later.' },
})
