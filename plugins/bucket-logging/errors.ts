import { defineErrors } from 'svc/kernel'

/** Code, status and text as AWS has them. */
export const loggingErrors = defineErrors({
  InvalidTargetBucketForLogging: {
    status: 400,
    title:
      'The target bucket for logging does not exist, is not owned by you, or does not have the appropriate grants for the log-delivery group.',
    verbatim: true,
  },
})
