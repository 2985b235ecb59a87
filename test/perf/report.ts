/** The figures of a run, and how they are shown. */
import { median } from './statistics.ts'

export interface Goal {
  readonly relation: '<=' | '>='
  readonly value: number
}

export interface Figure {
  readonly scenario: string
  /** SVC_WORKERS of the server that was measured. */
  readonly workers: number
  /** What was measured: `server`, `nginx`, `file writer`, `drive`, or for a ratio `server / nginx`. */
  readonly subject: string
  readonly name: string
  readonly unit: string
  /** The median of the samples. */
  readonly value: number
  readonly samples: readonly number[]
  readonly goal?: Goal
  readonly isGoalMet?: boolean
  readonly note?: string
}

export interface FigureInput {
  readonly subject: string
  readonly name: string
  readonly unit: string
  readonly samples: readonly number[]
  readonly goal?: Goal
  readonly note?: string
}

export interface Failure {
  readonly scenario: string
  readonly workers: number
  readonly error: string
}

export interface Report {
  readonly startedAt: string
  readonly commit: string
  readonly machine: Readonly<Record<string, string | number>>
  readonly options: unknown
  readonly figures: Figure[]
  readonly failures: Failure[]
}

export function createFigure(scenario: string, workers: number, input: FigureInput): Figure {
  const value = median(input.samples)
  const figure = { scenario, workers, ...input, samples: input.samples.map(round), value: round(value) }
  const { goal } = input
  if (goal === undefined) return figure
  return { ...figure, isGoalMet: goal.relation === '<=' ? value <= goal.value : value >= goal.value }
}

/** One line per figure, in columns. */
export function formatTable(figures: readonly Figure[]): string {
  const rows = [['scenario', 'w', 'subject', 'figure', 'median', 'unit', 'goal', 'samples']]
  for (const figure of figures) {
    const { goal } = figure
    const verdict =
      goal === undefined ? '' : `${goal.relation} ${round(goal.value)} ${figure.isGoalMet ? 'met' : 'MISSED'}`
    const samples = figure.samples.length > 1 ? figure.samples.join(' ') : ''
    const tail = [samples, figure.note ?? ''].filter(Boolean).join('; ')
    const { scenario, workers, subject, name, value, unit } = figure
    rows.push([scenario, String(workers), subject, name, String(value), unit, verdict, tail])
  }
  const widths = rows[0].map((_, column) => Math.max(...rows.map(row => row[column].length)))
  return rows.map(row => formatRow(row, widths)).join('\n')
}

function formatRow(row: readonly string[], widths: readonly number[]): string {
  const cells = row.map((cell, column) => (column === 4 ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
  return cells.join('  ').trimEnd()
}

/** Four significant digits: nothing here is known better. */
function round(value: number): number {
  return Number.isFinite(value) ? Number(value.toPrecision(4)) : value
}
