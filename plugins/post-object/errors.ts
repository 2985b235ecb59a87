import { defineErrors } from 'svc/kernel'

/** What can be wrong with a form. Codes and statuses as in the AWS S3 error list. */
export const formErrors = defineErrors({
  IncorrectNumberOfFilesInPostRequest: { status: 400, title: 'POST requires exactly one file upload per request.' },
  InvalidPolicyDocument: {
    status: 400,
    title: 'The content of the form does not meet the conditions specified in the policy document.',
  },
  MalformedPOSTRequest: {
    status: 400,
    title: 'The body of your POST request is not well-formed multipart/form-data.',
  },
  MaxPostPreDataLengthExceededError: {
    status: 400,
    title: 'Your POST request fields preceding the upload file were too large.',
  },
})
