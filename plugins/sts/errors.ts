import { defineErrors } from 'svc/kernel'

/** In addition to the errors of signatures and of the service `users`. Codes and statuses as AWS STS has them. */
export const stsErrors = defineErrors({
  ValidationError: { status: 400, title: 'A parameter is missing, unknown or out of bounds.' },
  PackedPolicyTooLarge: { status: 400, title: 'The session policy has more than 2048 characters.' },
  NotImplemented: { status: 501, title: 'The parameter stands for a feature that is not implemented.' },
})
