/**
 * CPU per decision: node --conditions=svc-src plugins/policy/test/perf/decisions.ts
 * Prints nanoseconds per call, the median of several rounds, and bytes allocated per call. Not a test: nothing is asserted.
 */
import type { Identity } from 'svc/plugins/iam/api'
import type { AccessRequest, PolicySource } from '../../api.ts'
import { createCatalogue } from '../../catalogue.ts'
import { createPolicy } from '../../policy.ts'
import { requestConditions } from '../../request-conditions.ts'

const rounds = 9
const calls = 500_000

const root: Identity = { accessKey: 'root', isRoot: true, ownerId: 'f'.repeat(64), displayName: 'root' }
const user: Identity = {
  accessKey: 'ada',
  isRoot: false,
  ownerId: 'e'.repeat(64),
  displayName: 'ada',
  groups: ['staff'],
}

const statements = (count: number, last: object) => [
  ...Array.from({ length: count - 1 }, (_, index) => ({
    Effect: index % 3 === 0 ? 'Deny' : 'Allow',
    Action: ['s3:GetObject', 's3:PutObject'],
    Resource: `arn:aws:s3:::bucket-${index}/*`,
  })),
  last,
]
const all = { Effect: 'Allow', Action: 's3:*', Resource: ['arn:aws:s3:::photos', 'arn:aws:s3:::photos/*'] }
const address = { ...all, Condition: { IpAddress: { 'aws:SourceIp': ['10.0.0.0/8', '192.0.2.0/24'] } } }
// biome-ignore lint/suspicious/noTemplateCurlyInString: a policy variable
const home = { Effect: 'Allow', Action: 's3:*', Resource: 'arn:aws:s3:::home/${aws:username}/*' }

function policyOf(list: object[], bucketList?: object[]) {
  const policy = createPolicy()
  const compile = (Statement: object[], kind: 'identity' | 'bucket', bucket?: string) => {
    const { policy: compiled, errors } = policy.compile({ Version: '2012-10-17', Statement }, { kind, bucket })
    if (compiled === undefined) throw new Error(JSON.stringify(errors))
    return compiled
  }
  const granted = policy.combine([{ policy: compile(list, 'identity'), source: 'policy', name: 'p' }])
  const identity = { granted }
  const policies =
    bucketList && policy.combine([{ policy: compile(bucketList, 'bucket', 'photos'), source: 'bucket-policy' }])
  const source: PolicySource = {
    identityPolicies: () => identity,
    bucketPolicies: () => (policies === undefined ? undefined : { policies }),
  }
  policy.open([source], createCatalogue())
  return policy
}

const facts = { sourceAddress: '192.0.2.7', secure: true, timeMs: 1_780_000_000_000, headers: {} }
const conditions = () => requestConditions(facts)

function measure(name: string, list: object[], request: AccessRequest, expected: boolean, bucketList?: object[]): void {
  const policy = policyOf(list, bucketList)
  const requests = Array.from({ length: 64 }, (_, index) => ({ ...request, key: `${request.key}${index}.jpg` }))
  const figures: number[] = []
  for (let round = 0; round < rounds; round++) {
    let allowed = 0
    const before = process.cpuUsage()
    for (let index = 0; index < calls; index++) if (policy.isAllowed(requests[index & 63])) allowed++
    const { user: spent } = process.cpuUsage(before)
    if (allowed !== (expected ? calls : 0)) throw new Error(`${name}: ${allowed}`)
    figures.push((spent * 1000) / calls)
  }
  figures.sort((a, b) => a - b)
  const heap = process.memoryUsage().heapUsed
  for (let index = 0; index < 10_000; index++) policy.isAllowed(requests[index & 63])
  const bytes = Math.max(0, process.memoryUsage().heapUsed - heap) / 10_000
  process.stdout.write(`${name.padEnd(52)} ${figures[rounds >> 1].toFixed(0).padStart(6)} ns  ${bytes.toFixed(0)} B\n`)
}

const request = { identity: user, action: 's3:GetObject', bucket: 'photos', key: '2026/', conditions }
measure('root', [all], { ...request, identity: root }, true)
measure('1 statement', [all], request, true)
measure('10 statements', statements(10, all), request, true)
measure('10 statements, nothing allows', statements(10, home), request, false)
measure('10 statements, the last by address', statements(10, address), request, true)
measure('10 statements, the last by user name', statements(10, home), { ...request, bucket: 'home', key: 'ada/' }, true)
measure('10 statements and 2 of the bucket', statements(10, home), request, true, [
  { ...all, Effect: 'Deny', Principal: '*', Action: 's3:DeleteObject', Resource: 'arn:aws:s3:::photos/*' },
  { ...all, Principal: { AWS: 'arn:aws:iam:::user/ada' } },
])
measure('100 statements', statements(100, all), request, true)
