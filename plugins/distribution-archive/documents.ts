/** From text to documents whose form is right. */
import { createValidation, type FieldProblem, problemsOf } from 'svc/plugins/admin/api'
import { type DocumentProblem, problemsMax } from './errors.ts'
import { apiVersion, isKind, type KindName, kindNames, kinds } from './kinds.ts'
import { type Path, readYaml, type TextDocument } from './yaml-text.ts'

export interface ArchiveDocument {
  readonly kind: KindName
  readonly name: string
  /** The content by its schema, with defaults. */
  readonly spec: Readonly<Record<string, unknown>>
  /** A problem at a JSON Pointer into `spec`. */
  problem(pointer: string, message: string): DocumentProblem
}

export interface ReadDocuments {
  readonly documents: readonly ArchiveDocument[]
  readonly problems: readonly DocumentProblem[]
  /** The documents with problems, by kind and name; undefined: there are some whose kind or name is unknown. */
  readonly broken: ReadonlySet<string> | undefined
}

const fieldNames = ['apiVersion', 'kind', 'metadata', 'spec'] as const
const validations = new Map(kindNames.map(kind => [kind, createValidation({ body: kinds[kind].spec })]))

const pathOf = (pointer: string): Path =>
  pointer === ''
    ? []
    : pointer
        .slice(1)
        .split('/')
        .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'))

/** All problems, at most 100. `hasLines`: of the text that somebody has written. */
export function readDocuments(text: string, hasLines: boolean): ReadDocuments {
  const read = readYaml(text)
  const documents: ArchiveDocument[] = []
  const problems: DocumentProblem[] = [...read.problems]
  const taken = new Map<string, number>()
  let broken: Set<string> | undefined = read.problems.length > 0 ? undefined : new Set()
  for (const [index, document] of read.documents.entries()) {
    if (problems.length >= problemsMax) {
      broken = undefined
      break
    }
    const found = readDocument(document, index, hasLines)
    problems.push(...found.problems)
    if (found.document === undefined) {
      if (found.name === undefined) broken = undefined
      else broken?.add(found.name)
      continue
    }
    const { kind, name, problem } = found.document
    const former = taken.get(`${kind}/${name}`)
    if (former === undefined) {
      taken.set(`${kind}/${name}`, index)
      documents.push(found.document)
    } else {
      broken?.add(`${kind}/${name}`)
      problems.push({
        ...problem('', `is in the file twice: document ${former + 1} is it, too`),
        element: `${kind}/${name}`,
      })
    }
  }
  if (documents.length === 0 && problems.length === 0) {
    problems.push({ element: '', line: hasLines ? 1 : 0, column: hasLines ? 1 : 0, message: 'has no document' })
  }
  return { documents, problems: problems.slice(0, problemsMax), broken }
}

function readDocument({ value, place }: TextDocument, index: number, hasLines: boolean) {
  const at = (path: Path) => (hasLines ? place(path) : { line: 0, column: 0 })
  const problems: DocumentProblem[] = []
  let label = `document ${index + 1}`
  const report = (path: Path, message: string): void => {
    problems.push({ element: [label, ...path].join('/'), ...at(path), message })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    report([], 'is no object with apiVersion, kind, metadata and spec')
    return { problems, name: undefined, document: undefined }
  }
  const { apiVersion: version, kind, metadata, spec = {} } = value as Record<string, unknown>
  if (!isKind(kind)) {
    report(['kind'], `must be one of ${kindNames.join(', ')}${kind === undefined ? '' : `, and is ${shown(kind)}`}`)
    return { problems, name: undefined, document: undefined }
  }
  const name = nameOf(metadata)
  const { namePattern, nameRule } = kinds[kind]
  if (typeof name !== 'string' || !namePattern.test(name)) {
    label = `${kind} (${label})`
    report(['metadata', 'name'], name === undefined ? 'is missing' : nameRule)
    return { problems, name: undefined, document: undefined }
  }
  label = `${kind}/${name}`
  if (version !== apiVersion) report(['apiVersion'], `must be ${apiVersion}`)
  const unknown = Object.keys(value).filter(field => !fieldNames.includes(field as (typeof fieldNames)[number]))
  for (const field of unknown) report([field], 'is not a field of a document')
  for (const field of Object.keys(metadata as object)) {
    if (field !== 'name') report(['metadata', field], 'is not a field of metadata: name is the only one')
  }
  const problem = (pointer: string, message: string): DocumentProblem => ({
    element: `${kind}/${name}/spec${pointer}`,
    ...at(['spec', ...pathOf(pointer)]),
    message,
  })
  if (typeof spec !== 'object' || spec === null || Array.isArray(spec)) {
    report(['spec'], 'is no object')
    return { problems, name: label, document: undefined }
  }
  const valid = validations.get(kind)!.body(spec)
  if ('error' in valid) {
    const found = (problemsOf(valid.error) ?? []) as readonly FieldProblem[]
    problems.push(...found.map(({ element, message }) => problem(element, message)))
  }
  const isRight = problems.length === 0 && 'value' in valid
  return {
    problems,
    name: label,
    document: isRight ? { kind, name, spec: valid.value as Record<string, unknown>, problem } : undefined,
  }
}

function nameOf(metadata: unknown): unknown {
  return typeof metadata === 'object' && metadata !== null ? (metadata as { readonly name?: unknown }).name : undefined
}

const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 64) ?? typeof value
