/**
 * Finds what is wrong with a value. The library finds problems of a whole value only: it walks on after it has as many as it reports, and
 * takes microseconds for each part. So a large value is taken apart: a compiled check, which is a hundred times as fast and stops at the
 * first problem, finds the elements and fields that are wrong, and the library is asked for the problems of these, until there are enough.
 */
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import type { FieldProblem } from './errors.ts'
import { placeIn, shortPointer } from './pointers.ts'
import { problemsIn } from './problem-words.ts'

/** A value with fewer parts is not taken apart. */
const partsMax = 1000
/** Of the longest texts that are repeated in a message. */
const messageCharsMax = 2000

type Validator = ReturnType<typeof Compile>

interface Parts {
  readonly type?: string
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly patternProperties?: Readonly<Record<string, TSchema>>
  readonly additionalProperties?: boolean | TSchema
  readonly anyOf?: readonly TSchema[]
}

export interface ProblemSearch {
  /** The first problems, one for each place; none: the value is valid. */
  problemsOf(schema: TSchema, value: unknown): readonly FieldProblem[]
}

export function createProblemSearch(problemsMax: number): ProblemSearch {
  const validators = new WeakMap<object, Validator>()
  const surfaces = new WeakMap<object, TSchema>()

  const validatorOf = (schema: TSchema): Validator => {
    let validator = validators.get(schema)
    if (validator === undefined) {
      validator = Compile(schema)
      validators.set(schema, validator)
    }
    return validator
  }

  /** The schema of an array or object that says nothing of its parts. */
  const surfaceOf = (schema: TSchema): TSchema => {
    let surface = surfaces.get(schema)
    if (surface === undefined) {
      const { items: _, properties, patternProperties, additionalProperties, ...own } = schema as Parts
      surface = {
        ...own,
        ...(properties !== undefined && { properties: withoutContent(properties) }),
        ...(patternProperties !== undefined && { patternProperties: withoutContent(patternProperties) }),
        ...(typeof additionalProperties === 'boolean' && { additionalProperties }),
      } as TSchema
      surfaces.set(schema, surface)
    }
    return surface
  }

  const collect = (schema: TSchema, value: unknown, pointer: string, problems: Map<string, string>): void => {
    if (problems.size >= problemsMax || validatorOf(schema).Check(value)) return
    const { type, items, anyOf } = schema as Parts
    if (!isLarge(value)) ask(schema, value, pointer, problems)
    else if (anyOf !== undefined) {
      for (const alternative of anyOf) collect(alternative, value, pointer, problems)
    } else if (Array.isArray(value) && type === 'array' && items !== undefined) {
      ask(surfaceOf(schema), value, pointer, problems)
      for (const [index, item] of (value as readonly unknown[]).entries()) {
        if (problems.size >= problemsMax) return
        collect(items, item, placeIn(pointer, index), problems)
      }
    } else if (!Array.isArray(value) && type === 'object') {
      ask(surfaceOf(schema), value, pointer, problems)
      for (const [name, field] of Object.entries(value as object)) {
        if (problems.size >= problemsMax) return
        const part = fieldOf(schema as Parts, name)
        if (part !== undefined) collect(part, field, placeIn(pointer, name), problems)
      }
    } else ask(schema, value, pointer, problems)
  }

  const ask = (schema: TSchema, value: unknown, pointer: string, problems: Map<string, string>): void => {
    for (const error of validatorOf(schema).Errors(value)) {
      for (const { element, message } of problemsIn(error, schema)) {
        if (problems.size >= problemsMax) return
        const place = shortPointer(pointer + element)
        if (!problems.has(place)) problems.set(place, message.slice(0, messageCharsMax))
      }
    }
  }

  return {
    problemsOf(schema, value) {
      const problems = new Map<string, string>()
      collect(schema, value, '', problems)
      return [...problems].map(([element, message]) => ({ element, message }))
    },
  }
}

const withoutContent = (parts: Readonly<Record<string, TSchema>>) =>
  Object.fromEntries(Object.keys(parts).map(name => [name, {}]))

/** The schema of a field; undefined: any value. */
function fieldOf({ properties = {}, patternProperties = {}, additionalProperties }: Parts, name: string) {
  if (Object.hasOwn(properties, name)) return properties[name]
  for (const [pattern, schema] of Object.entries(patternProperties)) {
    if (new RegExp(pattern, 'u').test(name)) return schema
  }
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}

function isLarge(root: unknown): boolean {
  const rest: unknown[] = [root]
  let count = 0
  while (rest.length > 0) {
    const value = rest.pop()
    if (typeof value !== 'object' || value === null) continue
    const children = Object.values(value)
    count += children.length
    if (count > partsMax) return true
    rest.push(...children)
  }
  return false
}
