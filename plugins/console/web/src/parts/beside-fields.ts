/** Which of the server's words stand at fields of a form already: the others stand above it. */
import { type RefObject, useLayoutEffect, useState } from 'react'
import { Problem } from '../api/problem.ts'

/**
 * The part of the failure that no field of the form says; null where all is said. Reads the form as it is drawn, because a field of the body
 * may have no input. It stays so while somebody corrects a field, whose words go with the first key.
 */
export function useUnsaid(form: RefObject<HTMLElement | null>, error: unknown): unknown {
  const [found, setFound] = useState<{ readonly error: unknown; readonly unsaid: unknown }>()
  const isKnown = found !== undefined && found.error === error
  useLayoutEffect(() => {
    if (isKnown || form.current === null || !(error instanceof Problem) || error.fields.length === 0) return
    const said = new Set([...form.current.querySelectorAll('.mantine-InputWrapper-error')].map(one => one.textContent))
    const rest = error.fields.filter(({ message }) => !said.has(message))
    // The words come to the fields with one of the next renders.
    if (rest.length === error.fields.length) return
    setFound({ error, unsaid: rest.length === 0 ? null : new Error(rest.map(sentenceOf).join(' ')) })
    form.current.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  })
  return isKnown ? found.unsaid : error
}

const sentenceOf = ({ field, message }: Problem['fields'][number]): string =>
  `${field === '' ? '' : `${field.replace(/^\//, '')}: `}${message}${/[.!?]$/.test(message) ? '' : '.'}`
