/** The forms of the console. What the server says of a part of a field, such as one of its lines, stands at the field, and goes when that part changes. */
import { type UseFormInput, type UseFormReturnType, useForm as useMantineForm } from '@mantine/form'
import { errorWithin } from '../api/problem.ts'

export type { UseFormReturnType } from '@mantine/form'

type UseForm<Values> = (input: UseFormInput<Values>) => UseFormReturnType<Values>

export function useForm<Values extends object>(input: UseFormInput<Values>): UseFormReturnType<Values> {
  return useFormOf<Values>(useMantineForm, input)
}

/** With a hook of `createFormContext`. */
export function useFormOf<Values extends object>(
  useGiven: UseForm<Values>,
  input: UseFormInput<Values>,
): UseFormReturnType<Values> {
  const form: UseFormReturnType<Values> = useGiven({
    ...input,
    enhanceGetInputProps: ({ inputProps, field, form }) =>
      inputProps.error === undefined || inputProps.error === null ? { error: errorWithin(form.errors, field) } : {},
    onValuesChange(now, before) {
      for (const path of Object.keys(form.errors)) {
        if (JSON.stringify(valueAt(now, path)) !== JSON.stringify(valueAt(before, path))) form.clearFieldError(path)
      }
      input.onValuesChange?.(now, before)
    },
  })
  return form
}

/** What is at `aliases.3`, or the last thing on the way there: a list that is shorter by now, an object whose names have dots. */
function valueAt(values: unknown, path: string): unknown {
  let found = values
  for (const name of path.split('.')) {
    const next = typeof found === 'object' && found !== null ? (found as Record<string, unknown>)[name] : undefined
    if (next === undefined) break
    found = next
  }
  return found === values ? undefined : found
}
