/** The forms of the console. What the server says of a part of a field, such as one of its lines, stands at the field, and goes when that part changes. */
import { type UseFormInput, type UseFormReturnType, useForm as useMantineForm } from '@mantine/form'
import { errorWithin } from '../api/problem.ts'

export type { UseFormReturnType } from '@mantine/form'

type UseForm<Values> = (input: UseFormInput<Values>) => UseFormReturnType<Values>

export interface FormInput<Values> extends UseFormInput<Values> {
  /**
   * Paths of values that are right or wrong together, as the ends of a range: what is said at one goes when another one changes. They hold
   * below any path: `ttl.min` is `cache.ttl.min` as well.
   */
  readonly related?: readonly (readonly string[])[]
}

export function useForm<Values extends object>(input: FormInput<Values>): UseFormReturnType<Values> {
  return useFormOf<Values>(useMantineForm, input)
}

/** With a hook of `createFormContext`. */
export function useFormOf<Values extends object>(
  useGiven: UseForm<Values>,
  { related = [], ...input }: FormInput<Values>,
): UseFormReturnType<Values> {
  const form: UseFormReturnType<Values> = useGiven({
    ...input,
    enhanceGetInputProps({ inputProps, field, form, options }) {
      const error = inputProps.error ?? errorWithin(form.errors, field)
      return options.type === 'checkbox' && error != null ? { error, ...readOut(String(error)) } : { error }
    },
    onValuesChange(now, before) {
      const isChanged = (path: string) => JSON.stringify(valueAt(now, path)) !== JSON.stringify(valueAt(before, path))
      for (const path of Object.keys(form.errors)) {
        if ([path, ...related.flatMap(paths => besides(path, paths))].some(isChanged)) form.clearFieldError(path)
      }
      input.onValuesChange?.(now, before)
    },
  })
  return form
}

/** The paths of a group, where this path is one of them. */
function besides(path: string, group: readonly string[]): string[] {
  const own = group.find(one => path === one || path.endsWith(`.${one}`))
  return own === undefined ? [] : group.map(one => path.slice(0, path.length - own.length) + one)
}

/** A checkbox does not say by itself that it is at fault, nor why. */
const readOut = (words: string) => ({ 'aria-invalid': true, 'aria-description': words })

/**
 * What is at `aliases.3`, or the last thing on the way there: a list that is shorter by now, an object whose names have dots. Of names with values,
 * which are typed as a list of pairs, the pairs of this name.
 */
export function valueAt(values: unknown, path: string): unknown {
  let found = values
  const names = path.split('.')
  for (const [index, name] of names.entries()) {
    if (isPairs(found)) {
      const wanted = names.slice(index).join('.')
      return found.filter(([given]) => given.trim() === wanted)
    }
    const next = typeof found === 'object' && found !== null ? (found as Record<string, unknown>)[name] : undefined
    if (next === undefined) break
    found = next
  }
  return found === values ? undefined : found
}

const isPairs = (value: unknown): value is readonly (readonly [string, string])[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every(one => Array.isArray(one) && one.length === 2 && one.every(part => typeof part === 'string'))

/** What stands in the form is stored now, also where it cannot be read yet. */
export function takeAsSaved<Values extends object>(form: SavedValues<Values>): void {
  form.setInitialValues(form.getValues())
  form.resetDirty()
}

export type SavedValues<Values> = Pick<UseFormReturnType<Values>, 'getValues' | 'setInitialValues' | 'resetDirty'>

/** The answer to what stands in the form; undefined where something else stands there by then. */
export async function answerTo<Answer>(
  form: { getValues(): unknown },
  ask: () => Promise<Answer>,
): Promise<Answer | undefined> {
  const asked = JSON.stringify(form.getValues())
  const answer = await ask()
  return JSON.stringify(form.getValues()) === asked ? answer : undefined
}
