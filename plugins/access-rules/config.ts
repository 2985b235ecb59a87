import { keyNormalizationSetting } from 'svc/plugins/policy/api'
import { type Static, Type } from 'typebox'

export const AccessRulesConfig = Type.Object({
  rulesMax: Type.Integer({
    default: 200,
    minimum: 1,
    maximum: 1000,
    description: 'How many access rules a bucket may have.',
    variable: 'SVC_ACCESS_RULES_MAX',
  }),
  keyNormalization: keyNormalizationSetting,
})

export type AccessRulesConfig = Static<typeof AccessRulesConfig>
