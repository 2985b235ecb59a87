/** What is said at the fields of a form: the server's words, and what the browser alone would say in a bubble that goes. */
import { type FormEvent, type RefObject, useLayoutEffect, useRef, useState } from 'react'
import { Problem } from '../api/problem.ts'
import { texts } from '../texts/index.ts'

type SetErrors = (errors: Record<string, string>) => void

/**
 * `element` is for the form. `unsaid` is the part of the failure that no field of it says, to be told above it. With `setErrors` what the browser
 * refuses is said at inputs with `data-path`, which those of `getInputProps` have.
 */
export function useBesideFields(error: unknown, setErrors?: SetErrors) {
  const ref = useRef<HTMLFormElement>(null)
  return {
    unsaid: useUnsaid(ref, error),
    element: {
      ref,
      ...(setErrors && { onInvalidCapture: (event: FormEvent<HTMLFormElement>) => sayAtFields(event, setErrors) }),
    },
  }
}

/**
 * The part of the failure that no field says; null where all is said. Reads the form as it is drawn, because a field of the body
 * may have no input. It stays so while somebody corrects a field, whose words go with the first key.
 */
export function useUnsaid(form: RefObject<HTMLElement | null>, error: unknown): unknown {
  const [found, setFound] = useState<{ readonly error: unknown; readonly unsaid: unknown }>()
  const isKnown = found !== undefined && found.error === error
  useLayoutEffect(() => {
    if (isKnown || form.current === null || !(error instanceof Problem) || error.fields.length === 0) return
    const said = [...form.current.querySelectorAll('.mantine-InputWrapper-error')].map(one => one.textContent)
    const rest = error.fields.filter(({ message }) => !said.some(text => text.includes(message)))
    // The words come to the fields with one of the next renders.
    if (rest.length === error.fields.length) return
    setFound({ error, unsaid: rest.length === 0 ? null : restOf(error, rest) })
    form.current.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  })
  return isKnown ? found.unsaid : error
}

function restOf({ status, code, isOfServer, requestId }: Problem, fields: Problem['fields']): Problem {
  const detail = fields.map(sentenceOf).join(' ')
  return new Problem({ status, code, isOfServer, requestId, fields, detail })
}

const sentenceOf = ({ field, message }: Problem['fields'][number]): string =>
  `${field === '' ? '' : `${field.replace(/^\//, '')}: `}${message}${/[.!?]$/.test(message) ? '' : '.'}`

/** Comes once for each input that the browser refuses, before anything is sent. */
function sayAtFields(event: FormEvent<HTMLFormElement>, setErrors: SetErrors): void {
  const isNamed = (input: Element): input is HTMLInputElement => (input as HTMLElement).dataset.path !== undefined
  if (!isNamed(event.target as Element)) return
  event.preventDefault()
  const inputs = [...event.currentTarget.querySelectorAll(':invalid')].filter(isNamed)
  if (inputs[0] !== event.target) return
  setErrors(Object.fromEntries(inputs.map(input => [input.dataset.path!, wordsOf(input)])))
  inputs[0].focus()
}

/** The title of a field with a pattern says what fits. */
const wordsOf = ({ validity, validationMessage, title }: HTMLInputElement): string => {
  if (validity.valueMissing) return texts.common.missing
  return validity.patternMismatch && title !== '' ? title : validationMessage
}
