/** Words of the page of encryption keys that the first load need not have. */
import * as more from './en/keys-more.ts'
import { withShownNames } from './index.ts'

export const keyTexts = withShownNames(more)
