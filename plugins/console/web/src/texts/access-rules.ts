/** Words of access rules, and of what opens a bucket, which the first load need not have. */
import { accessRules } from './en/access-rules.ts'
import { withShownNames } from './index.ts'

export const accessRuleTexts = withShownNames(accessRules)
