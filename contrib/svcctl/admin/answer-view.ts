/** Answers of the Admin API as people read them: tables for lists, names and values for the rest. Exact ones are in `--json`. */
import stringWidth from 'fast-string-width'
import { wrapAnsi } from 'fast-wrap-ansi'
import { formatBytes } from '../formatting.ts'

const cellWidthMax = 60
/** Fields that are long and of no use to a reader. */
const leftOut = new Set(['etag', 'nextCursor'])
const timePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
const sizeName = /(^|[a-z])([sS]ize|Bytes)$|^(size|bytes|usage|capacity|used|free|total)$/

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
/** Whether the value fits on one line. */
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
  /** Default: all short fields. */
  readonly columns?: readonly string[]
  /** The meaning of a missing value in a column. */
  readonly defaults?: Readonly<Record<string, unknown>>
  /** Characters of a line; default: as many as it takes. */
  readonly width?: number
  /** More rows of a table that has its headings. */
  readonly isContinued?: boolean
}

/**
 * Rows of a table, with headings. Empty columns are left out. If the table is too wide, cells continue in the next line between
 * two words; where the words alone are too wide, each row becomes lines with names and values.
 */
export function tableOf(items: readonly unknown[], options: TableOptions = {}): readonly string[] {
  const { columns, defaults = {}, width = Number.POSITIVE_INFINITY, isContinued = false } = options
  const rows = items.filter(isObject)
  if (rows.length < items.length) return items.map(item => formatValue('', item))
  const valueIn = (row: Json, name: string) => valueAt(row, name) ?? defaults[name]
  const names = (columns ?? columnsOf(rows)).filter(name => rows.some(row => !isEmpty(valueIn(row, name))))
  const cells = rows.map(row => names.map(name => cell(name, valueIn(row, name))))
  const headings = names.map(heading)
  const table = align(isContinued ? cells : [headings, ...cells], width)
  if (table !== undefined) return table.map(unglued)
  const nameWidth = Math.max(...headings.map(name => name.length))
  const records = cells.flatMap(row => [
    ...row.flatMap((text, column) => labelled(`${headings[column]}:`.padEnd(nameWidth + 1), text, width)),
    '',
  ])
  return [...(isContinued ? [''] : []), ...records.slice(0, -1).map(unglued)]
}

function columnsOf(rows: readonly Json[]): readonly string[] {
  const names = new Set(rows.flatMap(row => Object.keys(row)))
  return [...names].filter(name => !leftOut.has(name) && rows.every(row => isShort(row[name])))
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

function cell(name: string, value: unknown): string {
  if (typeof value === 'number' && sizeName.test(name)) return formatBytes(value).replace(' ', glue)
  const text = formatValue(name, value)
  // A reason is the field that users look for.
  if (/(^|\.)(error|reason)$/.test(name)) return text
  return text.length > cellWidthMax ? `${text.slice(0, cellWidthMax - 1)}…` : text
}

/** Between a number and its unit, while lines are made. */
const glue = '\u00a0'
const unglued = (line: string): string => line.replaceAll(glue, ' ')

const gap = '  '

/** Undefined: the words are wider than the line. */
function align(rows: readonly (readonly string[])[], width: number): readonly string[] | undefined {
  const widest = (texts: readonly string[]) => Math.max(0, ...texts.map(text => stringWidth(text)))
  const columns = (rows[0] ?? []).map((_, column) => rows.map(row => row[column]!))
  const wanted = columns.map(widest)
  const needed = columns.map(texts => widest(texts.flatMap(text => text.split(' '))))
  const room = width - gap.length * (columns.length - 1)
  const sum = (widths: readonly number[]) => widths.reduce((total, one) => total + one, 0)
  if (sum(needed) > room) return undefined
  // The widest columns give way, as far as their words let them.
  let widths = wanted
  for (let most = Math.max(0, ...wanted); sum(widths) > room; most--) {
    widths = wanted.map((one, column) => Math.max(needed[column]!, Math.min(one, most)))
  }
  return rows.flatMap(row => {
    const cells = row.map((text, column) => wrapAnsi(text, widths[column]!, { hard: false }).split('\n'))
    const height = Math.max(...cells.map(lines => lines.length))
    return Array.from({ length: height }, (_, line) =>
      cells
        .map((lines, column) => padded(lines[line] ?? '', widths[column]!))
        .join(gap)
        .trimEnd(),
    )
  })
}

/** Pads the text by its width in a terminal. */
const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - stringWidth(text)))

/** A value behind its label; the lines that it goes on in are indented below its beginning. */
function labelled(label: string, text: string, width: number): readonly string[] {
  const indent = label.length + 1
  const room = width - indent
  if (room < valueWidthMin || stringWidth(text) <= room) return [`${label} ${text}`]
  const [first = '', ...rest] = wrapAnsi(text, room, { hard: false }).split('\n')
  return [`${label} ${first}`, ...rest.map(line => ' '.repeat(indent) + line)]
}

/** Below this width lines are left for the terminal to wrap. */
const valueWidthMin = 20

/** An object, one line per name; nested values are indented below it. */
export function linesOf(answer: Json, width = Number.POSITIVE_INFINITY, indent = ''): readonly string[] {
  const names = Object.keys(answer).filter(name => answer[name] !== undefined && !leftOut.has(name))
  const nameWidth = Math.max(0, ...names.filter(name => isShort(answer[name])).map(name => name.length))
  return names.flatMap(name => {
    const value = answer[name]
    if (isShort(value)) return labelled(indent + `${name}:`.padEnd(nameWidth + 1), formatValue(name, value), width)
    const inner = `${indent}  `
    if (documentNames.has(name)) return [`${indent}${name}:`, ...documentLines(value).map(line => inner + line)]
    if (!Array.isArray(value)) return [`${indent}${name}:`, ...linesOf(value as Json, width, inner)]
    return [`${indent}${name}:`, ...listLines(value, width, inner)]
  })
}

function listLines(items: readonly unknown[], width: number, indent: string): readonly string[] {
  const isFlat = items.every(item => isObject(item) && Object.values(item).every(isShort))
  if (isFlat) return tableOf(items, { width: width - indent.length }).map(line => indent + line)
  return items.flatMap(item => {
    if (!isObject(item)) return [`${indent}- ${JSON.stringify(item)}`]
    const [first = '', ...rest] = linesOf(item, width, `${indent}  `)
    return [`${indent}- ${first.trimStart()}`, ...rest]
  })
}

/** Values that were given as JSON are shown as JSON. */
const documentNames = new Set(['document', 'policy', 'statement'])

export const documentLines = (value: unknown): readonly string[] => JSON.stringify(value, undefined, 2).split('\n')

/** One event of a stream, on one line. Where `hidden` is given, all but these follow the columns by name. */
export function eventLine(data: Json, columns: readonly string[], hidden: readonly string[] | undefined): string {
  const others = Object.keys(data).filter(name => hidden?.includes(name) === false && !columns.includes(name))
  const facts = others.map(
    name => `${name}=${isShort(data[name]) ? formatValue(name, data[name]) : JSON.stringify(data[name])}`,
  )
  const values = columns
    .map(name => valueAt(data, name))
    .map((value, index) => ({ name: columns[index]!, value }))
    .filter(({ value }) => !isEmpty(value))
    .map(({ name, value }) =>
      typeof value === 'number' && /Ms$/.test(name) ? `${value.toFixed(1)}ms` : formatValue(name, value),
    )
  return [...values, ...facts].join('  ')
}
