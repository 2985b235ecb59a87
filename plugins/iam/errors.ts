import { defineErrors } from 'svc/kernel'

/** Errors for requests whose credentials no provider recognizes. Codes and statuses as in the AWS S3 error list. */
export const iamErrors = defineErrors({
  AccessDenied: { status: 403, title: 'Access Denied' },
  InvalidArgument: { status: 400, title: 'Unsupported Authorization Type' },
  InvalidRequest: {
    status: 400,
    title: 'The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.',
  },
})
