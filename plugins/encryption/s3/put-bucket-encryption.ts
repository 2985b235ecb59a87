import type { XmlNode } from 'svc/plugins/s3/api'
import { childrenNamed, childText, childTexts, defineS3Operation, s3Errors } from 'svc/plugins/s3/api'
import type { BucketEncryption } from '../api.ts'
import { toS3KeyError } from '../bucket-encryption.ts'
import { readKeyId } from '../encryption-request.ts'
import { encryptionErrors } from '../errors.ts'

export default defineS3Operation({
  name: 'PutBucketEncryption',
  summary: 'Replaces the default encryption of a bucket. Existing objects stay as they are.',
  match: { method: 'PUT', level: 'bucket', query: ['encryption'] },
  action: 's3:PutEncryptionConfiguration',
  body: {
    kind: 'xml',
    root: 'ServerSideEncryptionConfiguration',
    elements: {
      Rule: {
        ApplyServerSideEncryptionByDefault: { SSEAlgorithm: 'text', KMSMasterKeyID: 'text' },
        BucketKeyEnabled: 'text',
        BlockedEncryptionTypes: { EncryptionType: 'text' },
      },
    },
    maxBytes: 64 * 1024,
  },
  reply: { kind: 'empty', status: 200 },
  errors: ['InvalidArgument', 'KMS.NotFoundException', 'MalformedXML', 'NoSuchBucket', 'NotImplemented'],
  uses: ['encryption', 'objects'],
  async handle({ bucket, xml }, { encryption, objects }) {
    const configuration = readConfiguration(xml!)
    await objects.getBucket(bucket)
    try {
      await encryption.replace(bucket, configuration)
    } catch (error) {
      throw toS3KeyError(error)
    }
    return {}
  },
})

/** Exactly one rule, as on AWS. */
function readConfiguration(xml: XmlNode): BucketEncryption {
  const [rule, other] = childrenNamed(xml, 'Rule')
  if (rule === undefined || other !== undefined) throw s3Errors.MalformedXML('There is exactly one Rule.')
  const blocksCustomerKeys = readBlocked(rule)
  const [byDefault, second] = childrenNamed(rule, 'ApplyServerSideEncryptionByDefault')
  if (second !== undefined) throw s3Errors.MalformedXML('A rule has one ApplyServerSideEncryptionByDefault.')
  if (byDefault === undefined) {
    if (!blocksCustomerKeys)
      throw s3Errors.MalformedXML('The rule has neither a default encryption nor a blocked encryption type.')
    return { blocksCustomerKeys }
  }
  const algorithm = childText(byDefault, 'SSEAlgorithm')?.trim()
  if (algorithm === 'aws:kms:dsse') {
    throw encryptionErrors.NotImplemented('Dual-layer encryption (aws:kms:dsse) is not implemented.')
  }
  if (algorithm !== 'AES256' && algorithm !== 'aws:kms')
    throw s3Errors.MalformedXML('SSEAlgorithm is AES256 or aws:kms.')
  const keyId = childText(byDefault, 'KMSMasterKeyID')?.trim()
  if (keyId !== undefined && algorithm === 'AES256') {
    throw encryptionErrors.InvalidArgument(
      'A KMSMasterKeyID is not applicable if the default SSE algorithm is not aws:kms.',
      { extra: { ArgumentName: 'ApplyServerSideEncryptionByDefault' } },
    )
  }
  return {
    algorithm,
    kmsKeyId: keyId === undefined || keyId === '' ? undefined : readKeyId(keyId),
    bucketKeyEnabled: childText(rule, 'BucketKeyEnabled')?.trim() === 'true',
    blocksCustomerKeys,
  }
}

function readBlocked(rule: XmlNode): boolean {
  const types = childrenNamed(rule, 'BlockedEncryptionTypes').flatMap(node =>
    childTexts(node, 'EncryptionType').map(text => text.trim()),
  )
  if (types.some(type => type !== 'SSE-C' && type !== 'NONE')) {
    throw s3Errors.MalformedXML('An EncryptionType that is blocked is SSE-C, or NONE.')
  }
  if (types.includes('NONE') && types.length > 1) throw s3Errors.MalformedXML('NONE stands alone.')
  return types.includes('SSE-C')
}
