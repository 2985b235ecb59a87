import type { BucketLock } from 'svc/plugins/objects/api'
import { childrenNamed, childText, defineS3Operation, s3Errors, type XmlNode } from 'svc/plugins/s3/api'
import { requireMode, requirePeriod } from '../retention.ts'

export default defineS3Operation({
  name: 'PutObjectLockConfiguration',
  summary: 'Enables object lock on a bucket with versioning, and sets its default retention.',
  match: { method: 'PUT', level: 'bucket', query: ['object-lock'] },
  action: 's3:PutBucketObjectLockConfiguration',
  body: {
    kind: 'xml',
    root: 'ObjectLockConfiguration',
    elements: {
      ObjectLockEnabled: 'text',
      Rule: { DefaultRetention: { Mode: 'text', Days: 'text', Years: 'text' } },
    },
    maxBytes: 16 * 1024,
  },
  reply: { kind: 'empty', status: 200 },
  errors: ['InvalidBucketState', 'InvalidRetentionPeriod', 'MalformedXML', 'NoSuchBucket'],
  uses: ['objects'],
  async handle({ bucket, xml }, { objects }) {
    await objects.changeBucket(bucket, { objectLock: readConfiguration(xml!) })
    return {}
  },
})

function readConfiguration(xml: XmlNode): BucketLock {
  if (childText(xml, 'ObjectLockEnabled') !== 'Enabled')
    throw s3Errors.MalformedXML('ObjectLockEnabled must be Enabled.')
  const [rule, ...others] = childrenNamed(xml, 'Rule')
  if (rule === undefined) return {}
  const [byDefault, ...more] = childrenNamed(rule, 'DefaultRetention')
  if (byDefault === undefined || others.length + more.length > 0) {
    throw s3Errors.MalformedXML('There must be one Rule with one DefaultRetention.')
  }
  const mode = requireMode(childText(byDefault, 'Mode'), () => s3Errors.MalformedXML('The Mode is unknown.'))
  const [days, years] = [childText(byDefault, 'Days'), childText(byDefault, 'Years')]
  if ((days === undefined) === (years === undefined)) throw s3Errors.MalformedXML('Either Days or Years must be given.')
  const defaultRetention =
    days === undefined ? { mode, years: readPeriod('years', years!) } : { mode, days: readPeriod('days', days) }
  return { defaultRetention }
}

function readPeriod(unit: 'days' | 'years', text: string): number {
  if (!/^-?\d{1,10}$/.test(text.trim())) throw s3Errors.MalformedXML('A period must be an integer.')
  return requirePeriod(unit, Number(text))
}
