/** Every field of text has a note below it where its value has what nobody sees; the note is loaded when there is one. */
import { isValidElement, lazy, type ReactNode, Suspense } from 'react'

const UnseenNote = lazy(async () => ({ default: (await import('./unseen-note.tsx')).UnseenNote }))

/** Visible from its first character to its last. */
const isVisible = /^([!-~]([ -~]*[!-~])?)?$/

interface InputProps {
  readonly value?: unknown
  readonly type?: string
  readonly multiline?: boolean
}

/** For `inputContainer` of the theme: the field itself, and the note. */
export function withUnseenNote(input: ReactNode): ReactNode {
  if (!isValidElement<InputProps>(input)) return input
  const { value, type = 'text', multiline = false } = input.props
  if (typeof value !== 'string' || (type !== 'text' && type !== 'search')) return input
  return (
    <>
      {input}
      {!isVisible.test(value) && (
        <Suspense>
          <UnseenNote value={value} hasLines={multiline} hasEnds={!multiline && type === 'text'} />
        </Suspense>
      )}
    </>
  )
}
