/** Why a distribution refuses a request. Loaded with the test of requests alone. */
export const refusals: Readonly<Record<string, string>> = {
  missing: 'no signature, or only a part of one',
  duplicate_parameter: 'a parameter of the signature is there twice',
  ambiguous: 'both a policy and an expiry in the signature',
  unknown_key: 'the key of the signature is not in the key group, or is disabled',
  malformed: 'the signature cannot be read',
  bad_signature: 'the signature is wrong',
  weak_hash: 'the hash of the signature is not accepted',
  malformed_policy: 'the policy of the signature cannot be read',
  unsupported_condition: 'the policy of the signature has an unknown condition',
  resource: 'the signature is for another address',
  expired: 'the signature has expired',
  not_yet: 'the signature is not valid yet',
  address: 'the signature is for another address of visitors',
  unauthenticated:
    'neither signed (Signature Version 4, a presigned link too), nor with a session of the console under this host name',
  public_access_blocked: 'public access to the bucket is blocked',
}
