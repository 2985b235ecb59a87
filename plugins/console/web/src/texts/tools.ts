/** Words of the page Tools that the first load need not have. */
import { tools } from './en/tools.ts'
import { withShownNames } from './index.ts'

export const toolTexts = withShownNames(tools)
