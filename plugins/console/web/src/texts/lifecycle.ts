/** Words of rules by which objects expire, which the first load need not have. */
import { lifecycle } from './en/lifecycle.ts'
import { withShownNames } from './index.ts'

export const lifecycleTexts = withShownNames(lifecycle)
