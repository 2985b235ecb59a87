import { createFormContext } from '@mantine/form'
import type { Draft } from './draft.ts'

/** The draft, for every part of the editor. */
export const [DraftProvider, useDraft, useDraftForm] = createFormContext<Draft>()
