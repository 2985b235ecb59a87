/** A question that a change waits for: what it would do, and whether to go on. */
import { type ReactNode, useState } from 'react'
import { ConfirmDeletion } from './confirm-deletion.tsx'

export interface AskedFirst {
  readonly title: string
  /** What the button says that goes on. */
  readonly action: string
  readonly text: ReactNode
}

/** `ask` resolves with whether to go on. The question has to be drawn. */
export function useAskFirst() {
  const [asked, setAsked] = useState<AskedFirst & { readonly answer: (isWanted: boolean) => void }>()
  const ask = (question: AskedFirst): Promise<boolean> => new Promise(answer => setAsked({ ...question, answer }))
  const question = asked !== undefined && (
    <ConfirmDeletion
      // The next question is another dialog.
      key={asked.title}
      title={asked.title}
      action={asked.action}
      onConfirm={async () => asked.answer(true)}
      onClose={() => {
        // Whoever has confirmed has answered already.
        asked.answer(false)
        setAsked(present => (present === asked ? undefined : present))
      }}
    >
      {asked.text}
    </ConfirmDeletion>
  )
  return { ask, question }
}
