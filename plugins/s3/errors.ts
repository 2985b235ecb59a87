import { defineErrors } from 'svc/kernel'

/** What the protocol itself may answer. Codes and statuses as in the AWS S3 error list, titles close to its texts. */
export const s3Errors = defineErrors({
  AccessControlListNotSupported: { status: 400, title: 'The bucket does not allow ACLs; use a bucket policy.' },
  AccessDenied: { status: 403, title: 'Access Denied.' },
  InternalError: { status: 500, title: 'We encountered an internal error. Please try again.' },
  InvalidBucketAclWithObjectOwnership: {
    status: 400,
    title: 'Bucket cannot have ACLs set with the ObjectOwnership setting BucketOwnerEnforced.',
  },
  InvalidLocationConstraint: { status: 400, title: 'The specified location constraint is not valid.' },
  InvalidRedirectLocation: {
    status: 400,
    title: 'The website redirect location must have a prefix of "http://" or "https://" or "/".',
  },
  InvalidStorageClass: { status: 400, title: 'The storage class you specified is not valid.' },
  InvalidURI: { status: 400, title: 'The specified URI could not be parsed.' },
  MalformedXML: {
    status: 400,
    title: 'The XML you provided was not well-formed or did not validate against our published schema.',
  },
  MaxMessageLengthExceeded: { status: 400, title: 'Your request was too big.' },
  MetadataTooLarge: { status: 400, title: 'Your metadata headers exceed the maximum allowed metadata size.' },
  MissingContentLength: { status: 411, title: 'You must provide the Content-Length HTTP header.' },
  MissingRequestBodyError: { status: 400, title: 'Request body is empty.' },
  NotImplemented: {
    status: 501,
    title: 'A header or query you provided implies functionality that is not implemented.',
  },
  SlowDown: { status: 503, title: 'Please reduce your request rate.' },
  ServiceUnavailable: { status: 503, title: 'The service is temporarily unavailable. Please retry.' },
})
