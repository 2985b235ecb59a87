import { defineErrors } from 'svc/kernel'

/** Codes and statuses as in the AWS S3 error list. */
export const ownershipErrors = defineErrors({
  MalformedACLError: {
    status: 400,
    title: 'The XML you provided was not well-formed or did not validate against our published schema',
    verbatim: true,
  },
  MissingSecurityHeader: { status: 400, title: 'Your request was missing a required header', verbatim: true },
  NoSuchPublicAccessBlockConfiguration: {
    status: 404,
    title: 'The public access block configuration was not found',
    verbatim: true,
  },
  OwnershipControlsNotFoundError: {
    status: 404,
    title: 'The bucket ownership controls were not found',
    verbatim: true,
  },
  UnexpectedContent: { status: 400, title: 'This request does not support content', verbatim: true },
})
