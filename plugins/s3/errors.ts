import { defineErrors } from 'svc/kernel'

/** Errors of the protocol itself. Codes and statuses as in the AWS S3 error list, titles close to its texts. */
export const s3Errors = defineErrors({
  AccessControlListNotSupported: { status: 400, title: 'The bucket does not allow ACLs', verbatim: true },
  AccessDenied: { status: 403, title: 'Access Denied' },
  InternalError: { status: 500, title: 'We encountered an internal error. Please try again.' },
  InvalidBucketAclWithObjectOwnership: {
    status: 400,
    title: "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting",
    verbatim: true,
  },
  InvalidLocationConstraint: { status: 400, title: 'The specified location-constraint is not valid', verbatim: true },
  InvalidRedirectLocation: {
    status: 400,
    title: "The website redirect location must have a prefix of 'http://' or 'https://' or '/'.",
    verbatim: true,
  },
  InvalidStorageClass: { status: 400, title: 'The storage class you specified is not valid', verbatim: true },
  InvalidURI: { status: 400, title: "Couldn't parse the specified URI.", verbatim: true },
  MalformedXML: {
    status: 400,
    title: 'The XML you provided was not well-formed or did not validate against our published schema',
    verbatim: true,
  },
  MaxMessageLengthExceeded: { status: 400, title: 'Your request was too big.', verbatim: true },
  MetadataTooLarge: {
    status: 400,
    title: 'Your metadata headers exceed the maximum allowed metadata size',
    verbatim: true,
  },
  MissingContentLength: { status: 411, title: 'You must provide the Content-Length HTTP header.', verbatim: true },
  MissingRequestBodyError: { status: 400, title: 'Request Body is empty', verbatim: true },
  NotImplemented: {
    status: 501,
    title: 'A header you provided implies functionality that is not implemented',
    verbatim: true,
  },
  SlowDown: { status: 503, title: 'Please reduce your request rate.', verbatim: true },
  ServiceUnavailable: { status: 503, title: 'The service is temporarily unavailable. Please retry.' },
})
