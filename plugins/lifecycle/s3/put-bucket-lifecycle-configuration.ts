import { objectErrors } from 'svc/plugins/objects/api'
import { defineS3Operation, s3Errors } from 'svc/plugins/s3/api'
import { readLifecycleRule, ruleElements } from '../rule-xml.ts'
import { checkLifecycleRules, type LifecycleRuleProblem } from '../rules.ts'
import { minimumHeader, readTransitionMinimum } from '../transition-minimum.ts'

export default defineS3Operation({
  name: 'PutBucketLifecycleConfiguration',
  summary: 'Replaces the lifecycle rules of a bucket.',
  match: { method: 'PUT', level: 'bucket', query: ['lifecycle'] },
  action: 's3:PutLifecycleConfiguration',
  body: {
    kind: 'xml',
    root: 'LifecycleConfiguration',
    elements: { Rule: ruleElements },
    maxBytes: 4 * 1024 ** 2,
    // A thousand rules with ten tags each.
    elementsMax: 64_000,
  },
  reply: { kind: 'empty', status: 200 },
  errors: ['InvalidArgument', 'InvalidRequest', 'MalformedXML', 'NoSuchBucket', 'NotImplemented'],
  uses: ['lifecycle', 'objects'],
  async handle({ bucket, xml, headers }, { lifecycle, objects }) {
    const transitionMinimum = readTransitionMinimum(headers)
    if (xml!.children.length === 0) throw s3Errors.MalformedXML('A lifecycle configuration needs at least one Rule.')
    const rules = xml!.children.map(readLifecycleRule)
    await objects.getBucket(bucket)
    const [problem] = checkLifecycleRules(rules)
    if (problem !== undefined) throw refusal(problem)
    await lifecycle.replace(bucket, rules, { transitionMinimum })
    return { headers: { [minimumHeader]: transitionMinimum } }
  },
})

function refusal({ code, message }: LifecycleRuleProblem): Error {
  if (code === 'MalformedXML' || code === 'NotImplemented') return s3Errors[code](message)
  return objectErrors[code](message)
}
