/** Words of the page of drives, which the first load need not have. */
import { replacing } from './en/replacing.ts'
import { withShownNames } from './index.ts'

export const replacingTexts = withShownNames(replacing)
