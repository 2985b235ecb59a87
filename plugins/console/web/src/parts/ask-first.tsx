/** A question that a change waits for: what it would do, and whether to go on. */
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { ConfirmDeletion } from './confirm-deletion.tsx'
import { useIsGone } from './gone.ts'

export interface AskedFirst {
  readonly title: string
  /** What the button says that goes on. */
  readonly action: string
  readonly text: ReactNode
}

interface Asked extends AskedFirst {
  readonly id: number
  readonly answer: (isWanted: boolean) => void
}

/** `ask` resolves with whether to go on. The question has to be drawn; several have their turns. */
export function useAskFirst() {
  const [waiting, setWaiting] = useState<readonly Asked[]>([])
  const [asked] = waiting
  const count = useRef(0)
  const isGone = useIsGone()
  const unanswered = useRef(waiting)
  unanswered.current = waiting
  // Where nobody can answer any more, nobody wants it.
  useEffect(
    () => () => {
      for (const { answer } of unanswered.current) answer(false)
    },
    [],
  )
  const ask = (question: AskedFirst): Promise<boolean> => {
    if (isGone.current) return Promise.resolve(false)
    const id = count.current++
    return new Promise(answer => setWaiting(all => [...all, { ...question, answer, id }]))
  }
  const question = asked !== undefined && (
    <ConfirmDeletion
      // The next question is another dialog.
      key={asked.id}
      title={asked.title}
      action={asked.action}
      onConfirm={async () => asked.answer(true)}
      onClose={() => {
        // Whoever has confirmed has answered already.
        asked.answer(false)
        setWaiting(all => all.filter(one => one !== asked))
      }}
    >
      {asked.text}
    </ConfirmDeletion>
  )
  return { ask, question }
}
