/** Answers of the Admin API as people read them: tables for lists, names and values for the rest. Exact ones are in `--json`. */
import { formatBytes } from '../formatting.ts'

const cellWidthMax = 60
/** Neither short nor of use to who reads. */
const leftOut = new Set(['etag', 'nextCursor'])
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
const sizeName = /(^|[a-z])([sS]ize|Bytes)$|^(size|bytes|usage|capacity|used|free|total)$/

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
/** Of one line. */
const isShort = (value: unknown): boolean =>
  !isObject(value) && (!Array.isArray(value) || value.every(item => typeof item !== 'object' || item === null))

export function formatValue(name: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number') return formatNumber(name, value)
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(item => formatValue(name, item)).join(', ')
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return timePattern.test(text) ? text.replace(/\.\d+Z$/, 'Z') : text
}

function formatNumber(name: string, value: number): string {
  if (sizeName.test(name)) return value < 1000 ? `${value} B` : `${formatBytes(value)} (${value})`
  return Number.isInteger(value) ? String(value) : value.toFixed(2)
}

/** `accessKey` as a heading: `ACCESS KEY`. */
const heading = (name: string): string =>
  name
    .replace(/^.*\./, '')
    .replace(/[A-Z]/g, letter => ` ${letter}`)
    .toUpperCase()

const valueAt = (item: Json, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), item)

export interface TableOptions {
  /** Default: whatever is short. */
  readonly columns?: readonly string[]
  /** What a column means where an item leaves it out. */
  readonly defaults?: Readonly<Record<string, unknown>>
}

/** Rows of a table, with headings. Columns that nobody fills are left out. */
export function tableOf(items: readonly unknown[], { columns, defaults = {} }: TableOptions = {}): readonly string[] {
  const rows = items.filter(isObject)
  if (rows.length < items.length) return items.map(item => formatValue('', item))
  const valueIn = (row: Json, name: string) => valueAt(row, name) ?? defaults[name]
  const names = (columns ?? columnsOf(rows)).filter(name => rows.some(row => !isEmpty(valueIn(row, name))))
  const cells = rows.map(row => names.map(name => cell(name, valueIn(row, name))))
  return align([names.map(heading), ...cells])
}

function columnsOf(rows: readonly Json[]): readonly string[] {
  const names = new Set(rows.flatMap(row => Object.keys(row)))
  return [...names].filter(name => !leftOut.has(name) && rows.every(row => isShort(row[name])))
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

function cell(name: string, value: unknown): string {
  const text = typeof value === 'number' && sizeName.test(name) ? formatBytes(value) : formatValue(name, value)
  // Why something is wrong is what somebody looks for.
  if (/(^|\.)(error|reason)$/.test(name)) return text
  return text.length > cellWidthMax ? `${text.slice(0, cellWidthMax - 1)}…` : text
}

function align(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  return rows.map(row =>
    row
      .map((text, column) => text.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
}

/** An object, one line per name; what it holds is indented below. */
export function linesOf(answer: Json, indent = ''): readonly string[] {
  const names = Object.keys(answer).filter(name => answer[name] !== undefined && !leftOut.has(name))
  const width = Math.max(0, ...names.filter(name => isShort(answer[name])).map(name => name.length))
  return names.flatMap(name => {
    const value = answer[name]
    if (isShort(value)) return [`${indent}${`${name}:`.padEnd(width + 1)} ${formatValue(name, value)}`]
    const inner = `${indent}  `
    if (documentNames.has(name)) return [`${indent}${name}:`, ...documentLines(value).map(line => inner + line)]
    if (!Array.isArray(value)) return [`${indent}${name}:`, ...linesOf(value as Json, inner)]
    return [`${indent}${name}:`, ...listLines(value, inner)]
  })
}

function listLines(items: readonly unknown[], indent: string): readonly string[] {
  const isFlat = items.every(item => isObject(item) && Object.values(item).every(isShort))
  if (isFlat) return tableOf(items).map(line => indent + line)
  return items.flatMap(item => {
    if (!isObject(item)) return [`${indent}- ${JSON.stringify(item)}`]
    const [first = '', ...rest] = linesOf(item, `${indent}  `)
    return [`${indent}- ${first.trimStart()}`, ...rest]
  })
}

/** What people wrote as JSON they read as JSON. */
const documentNames = new Set(['document', 'policy', 'statement'])

export const documentLines = (value: unknown): readonly string[] => JSON.stringify(value, undefined, 2).split('\n')

/** One event of a stream, on one line. */
export function eventLine(data: Json, columns: readonly string[] | undefined): string {
  const names = columns ?? Object.keys(data).filter(name => isShort(data[name]))
  return names
    .map(name => valueAt(data, name))
    .map((value, index) => ({ name: names[index]!, value }))
    .filter(({ value }) => !isEmpty(value))
    .map(({ name, value }) =>
      typeof value === 'number' && /Ms$/.test(name) ? `${value.toFixed(1)}ms` : formatValue(name, value),
    )
    .join('  ')
}
