import { defineErrors } from 'svc/kernel'

/** What can be wrong with a payload as such. Codes and statuses as in the AWS S3 error list. */
export const payloadErrors = defineErrors({
  IncompleteBody: {
    status: 400,
    title: 'You did not provide the number of bytes specified by the Content-Length HTTP header',
    verbatim: true,
  },
  InvalidChunkSizeError: { status: 400, title: 'Only the last chunk is allowed to have a size less than 8192 bytes.' },
  InvalidDigest: { status: 400, title: 'The Content-MD5 you specified was invalid.', verbatim: true },
})
