/** Series of numbers as lines of text, at most 80 characters wide: a chart for one series, a row each for several. */
import { formatBytes } from './formatting.ts'

/** Columns of a chart: points that do not fit are averaged. */
export const chartColumns = 60
const chartRows = 8
const scaleWidth = 10
const labelWidth = 80
const figuresWidth = 80 - chartColumns - 2

export interface ChartSeries {
  readonly labels: Readonly<Record<string, string>>
  readonly points: readonly (readonly [seconds: number, value: number | null])[]
}

export interface ChartOptions {
  readonly series: readonly ChartSeries[]
  /** Unit of the values: `bytes`, `seconds`; undefined for a count. */
  readonly unit: string | undefined
}

const blocks = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

type Values = readonly (number | null)[]

export function chartOf({ series, unit }: ChartOptions): readonly string[] {
  const columns = series.map(({ points }) => fold(points.map(([, value]) => value)))
  const known = columns.flat().filter(value => value !== null)
  if (known.length === 0) return ['No samples in this time.']
  const low = Math.min(0, ...known)
  const high = Math.max(0, ...known)
  const format = (value: number) => formatMetric(value, unit)
  const scale = (value: number, steps: number) =>
    Math.max(1, Math.round(high === low ? 0 : ((value - low) / (high - low)) * steps))
  const axis = timeAxis(series[0].points, columns[0].length)
  if (series.length === 1) {
    const lines = Array.from({ length: chartRows }, (_, row) => {
      const floor = (chartRows - 1 - row) * 8
      const text = columns[0].map(value => blockOf(value === null ? 0 : scale(value, chartRows * 8) - floor)).join('')
      const mark = row === 0 ? format(high) : row === chartRows - 1 ? format(low) : ''
      return `${mark.padStart(scaleWidth)} ${text}`.trimEnd()
    })
    const figures = figuresOf(columns[0], format)
    return [...labelLine(series[0]), ...lines, ' '.repeat(scaleWidth + 1) + axis, ' '.repeat(scaleWidth + 1) + figures]
  }
  const rows = series.flatMap((one, index) => {
    const text = columns[index].map(value => (value === null ? ' ' : blockOf(scale(value, 8)))).join('')
    const last = columns[index].findLast(value => value !== null)
    const figure = last === undefined ? '-' : format(last)
    return [...labelLine(one), `${text.padEnd(chartColumns)}  ${figure.slice(0, figuresWidth)}`]
  })
  return [...rows, axis, `From ${format(low)} to ${format(high)}; on the right the last value.`]
}

const blockOf = (eighths: number): string => blocks[Math.max(0, Math.min(8, eighths))]

/** Means of neighbours, where there are more than columns. */
function fold(values: Values): Values {
  if (values.length <= chartColumns) return values
  const share = Math.ceil(values.length / chartColumns)
  return Array.from({ length: Math.ceil(values.length / share) }, (_, column) => {
    const known = values.slice(column * share, (column + 1) * share).filter(value => value !== null)
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
  })
}

function labelLine({ labels }: ChartSeries): readonly string[] {
  const text = Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
  if (text === '') return []
  return [text.length <= labelWidth ? text : `${text.slice(0, labelWidth - 1)}…`]
}

const daySeconds = 86_400

/** The times of the first and the last column, in UTC: hours and minutes, with the day where that does not tell. */
function timeAxis(points: ChartSeries['points'], width: number): string {
  const [start, end] = [points.at(0)?.[0] ?? 0, points.at(-1)?.[0] ?? 0]
  const [first, last] = [start, end].map(seconds => {
    const text = new Date(seconds * 1000).toISOString()
    return end - start < daySeconds ? text.slice(11, 16) : `${text.slice(5, 10)} ${text.slice(11, 16)}`
  })
  return width < 2 * first.length + 2 ? `${first} to ${last}` : `${first}${last.padStart(width - first.length)}`
}

function figuresOf(values: Values, format: (value: number) => string): string {
  const known = values.filter(value => value !== null)
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length
  const figures = [
    ['least', Math.min(...known)],
    ['mean', mean],
    ['most', Math.max(...known)],
    ['last', known.at(-1)!],
  ] as const
  return figures.map(([name, value]) => `${name} ${format(value)}`).join('  ')
}

const prefixes = ['', 'k', 'M', 'G', 'T', 'P'] as const

/** Three digits that count. */
export function formatMetric(value: number, unit: string | undefined): string {
  const size = Math.abs(value)
  if (unit === 'bytes' && value >= 0) return formatBytes(value)
  if (unit === 'seconds' && size > 0 && size < 1) return `${digits(value * 1000)} ms`
  if (unit === 'seconds') return `${digits(value)} s`
  const step = size < 1000 ? 0 : Math.min(prefixes.length - 1, Math.floor(Math.log10(size) / 3))
  return `${digits(value / 1000 ** step)}${prefixes[step]}`
}

const digits = (value: number): string => String(Number(value.toPrecision(3)))
