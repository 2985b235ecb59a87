import { defineErrors } from 'svc/kernel'

/** Codes and statuses as in the AWS S3 error list. */
export const bucketPolicyErrors = defineErrors({
  MalformedPolicy: { status: 400, title: 'This policy contains invalid Json or is not a policy of this bucket.' },
  NoSuchBucketPolicy: { status: 404, title: 'The bucket policy does not exist', verbatim: true },
})

/** Errors of the Admin API. */
export const bucketPolicyProblems = defineErrors({
  malformed_policy: { status: 400, title: 'The policy is not valid.' },
  policy_not_found: { status: 404, title: 'The bucket has no policy.' },
  public_access_blocked: {
    status: 403,
    title: 'Public access is blocked, and the policy allows something to everybody.',
  },
})
