import { defineErrors } from 'svc/kernel'

/** Beside those that Signature Version 4 has, too. */
export const sigv2Errors = defineErrors({
  InvalidRequest: {
    status: 400,
    title: 'The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.',
    verbatim: true,
  },
})
