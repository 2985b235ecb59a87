import 'svc/plugins/cluster-archive/api'
import { definePlugin } from 'svc/kernel'
import { withProblems } from 'svc/plugins/admin/api'
import 'svc/plugins/iam/api'
import 'svc/plugins/object-ownership/api'
import 'svc/plugins/objects/api'
import 'svc/plugins/stored-needs/api'
import 'svc/plugins/users/api'
import { createAccessRules } from './access-rules.ts'
import getAccessRules from './admin/get-access-rules.ts'
import getBlockPublic from './admin/get-block-public.ts'
import getBucketBlockPublic from './admin/get-bucket-block-public.ts'
import putAccessRules from './admin/put-access-rules.ts'
import setAccessPreset from './admin/set-access-preset.ts'
import setBlockPublic from './admin/set-block-public.ts'
import setBucketBlockPublic from './admin/set-bucket-block-public.ts'
import testAccessRules from './admin/test-access-rules.ts'
import validatePolicy from './admin/validate-policy.ts'
import { createAccessRulesAdmin } from './admin-service.ts'
import './api.ts'
import { AccessRulesConfig } from './config.ts'
import { accessRuleErrors } from './errors.ts'
import { accessRulesPoints } from './points.ts'
import type { AccessRuleProblem } from './problems.ts'

const operations = [
  getAccessRules,
  getBlockPublic,
  getBucketBlockPublic,
  putAccessRules,
  setAccessPreset,
  setBlockPublic,
  setBucketBlockPublic,
  testAccessRules,
  validatePolicy,
]

/** The first is the detail. */
const invalidRules = (problems: readonly AccessRuleProblem[]) => {
  const [{ rule, id, field, message }] = problems as [AccessRuleProblem]
  const place = rule < 0 ? '' : `Rule ${id === '' ? rule : `"${id}"`}${field === '' ? '' : `, ${field}`}: `
  return withProblems(
    accessRuleErrors.invalid_access_rule(`${place}${message}${message.endsWith('?') ? '' : '.'}`),
    'accessRuleErrors',
    problems,
  )
}

export default definePlugin({
  name: 'access-rules',
  description: 'Rules of buckets by key, caller and circumstances; block public access.',
  requires: ['iam', 'objectOwnership', 'objects', 'policy', 'store'],
  optional: ['users'],
  provides: ['accessRules'],
  internal: ['accessRulesAdmin'],
  points: accessRulesPoints,
  contributes: { 'admin.operation': operations },
  config: AccessRulesConfig,
  setup({ services, config, ports, log, point, contribute }) {
    const { clock } = ports
    const {
      service: accessRules,
      source,
      section,
    } = createAccessRules({
      ...services,
      config,
      clock,
      log,
      invalidRules,
    })
    contribute('policy.source', 'access-rules', source)
    contribute('archive.section', section.documents.name, section, { optional: true })
    contribute(
      'stored.need',
      'access-rules',
      {
        sign: { kind: 'bucket-document', name: 'access-rules' },
        has: 'access rules',
        consequence: 'no access rule counts, and requests that one denies are allowed where a policy allows them',
      },
      { optional: true },
    )
    const routes = point('accessRules.route')
    const { iam, policy, users } = services
    const accessRulesAdmin = createAccessRulesAdmin({
      accessRules,
      iam,
      policy,
      users,
      clock,
      routes: () => routes.list()[0]?.value,
    })
    return { services: { accessRules }, internal: { accessRulesAdmin } }
  },
})
