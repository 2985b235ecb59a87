import { defineErrors } from 'svc/kernel'

/** What can be wrong with tags. Codes as in the AWS S3 error list. */
export const taggingErrors = defineErrors({
  BadRequest: { status: 400, title: 'Too many tags.' },
  InvalidTag: { status: 400, title: 'The tag provided was not a valid tag.' },
  NoSuchTagSet: { status: 404, title: 'The TagSet does not exist', verbatim: true },
})
