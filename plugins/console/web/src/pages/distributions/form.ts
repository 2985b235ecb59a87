import { createFormContext } from '@mantine/form'
import { useFormOf } from '../../parts/form.ts'
import type { Draft } from './draft.ts'

const [DraftProvider, useDraft, useGiven] = createFormContext<Draft>()

/** The draft, for every part of the editor. */
export { DraftProvider, useDraft }

export const useDraftForm = (initialValues: Draft) => useFormOf<Draft>(useGiven, { initialValues })
