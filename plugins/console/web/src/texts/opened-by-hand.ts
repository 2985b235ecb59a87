/** Words of folders for everybody and of upload forms, which the first load need not have. */
import { postForm, simpleAccess } from './en/opened-by-hand.ts'
import { withShownNames } from './index.ts'

export const openedByHand = withShownNames({ postForm, simpleAccess })
