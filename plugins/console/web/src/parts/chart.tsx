/** Lines over time, drawn by uPlot. */
import 'uplot/dist/uPlot.min.css'
import { Box, Text, useComputedColorScheme } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import { texts } from '../texts/index.ts'
import { steps, topOf } from './chart-scale.ts'
import { beganAt, firstDrawn } from './chart-start.ts'
import { formatClock, formatDate } from './format.ts'
import type { Line } from './line.ts'

const words = texts.chart

const colours = ['#0c8599', '#e8590c', '#7048e8', '#2f9e44']
const height = 140
const dotsMax = 10

/** Pixels: of the times below, above the chart, and between two lines of the grid at least. */
const [timesHeight, roomAbove, lineSpace] = [28, 8, 30]

const hour = (seconds: number) => formatClock(new Date(seconds * 1000))

/** Rounded, neighbours may be the same: then it is said once. */
const distinct = (labels: readonly string[]) => labels.map((label, index) => (label === labels[index - 1] ? '' : label))

export interface ChartProps {
  readonly label: string
  readonly lines: readonly Line[]
  readonly format: (value: number) => string
  readonly step?: 'binary' | 'whole' | undefined
  /** Seconds since 1970: when measuring began. It is said where that is later than the begin of the time that was chosen. */
  readonly since?: number | undefined
}

export function Chart({ label, lines, format, step, since }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const { ref, width } = useElementSize()
  const scheme = useComputedColorScheme('light')
  useEffect(() => {
    if (place.current === null || width === 0) return
    const text = scheme === 'dark' ? '#c9c9c9' : '#495057'
    const grid = { stroke: scheme === 'dark' ? '#3b3b3b' : '#e9ecef', width: 1 }
    const axis = { stroke: text, grid, ticks: { show: false } }
    const plot = new uPlot(
      {
        width,
        height,
        cursor: { y: false },
        // The last time is written around its place, half of it beyond the end of the line.
        padding: [roomAbove, 24, 0, 0],
        scales: {
          y: {
            range: (_, min, max) => [
              Math.min(0, min ?? 0),
              topOf(max ?? 0, steps[step ?? 'any'], (height - timesHeight - roomAbove) / lineSpace),
            ],
          },
        },
        axes: [
          { ...axis, space: 76, size: timesHeight, values: (_, ticks) => ticks.map(hour) },
          {
            ...axis,
            // As wide for most charts, so that they begin below each other.
            size: (_, labels) => Math.max(64, 20 + 7 * Math.max(...(labels ?? ['']).map(label => label.length))),
            values: (_, ticks) => distinct(ticks.map(format)),
            space: lineSpace,
            incrs: steps[step ?? 'any'],
          },
        ],
        series: [
          { value: (_: uPlot, seconds: number | null | undefined) => (seconds == null ? '–' : hour(seconds)) },
          ...lines.map((line, index) => ({
            label: line.label,
            stroke: colours[index % colours.length]!,
            width: 1.5,
            // Of a server that has just started: one point makes no line.
            ...(measuredOf(line).length < dotsMax && { points: { show: true, size: 4 } }),
            // Undefined where another line has a time that this one lacks.
            value: (_: uPlot, value: number | null | undefined) => (value == null ? '–' : format(value)),
          })),
        ],
      },
      dataOf(lines, since),
      place.current,
    )
    // Where nobody points at a time the legend has the last values. The library clears it when it has drawn, and when the pointer leaves.
    let timer: ReturnType<typeof setTimeout> | undefined
    const last = lastMeasured(plot.data)
    const time = plot.root.querySelector<HTMLElement>('.u-legend .u-series')!
    const showLast = () => {
      time.style.display = 'none'
      timer = setTimeout(() => last >= 0 && plot.setLegend({ idx: last }))
    }
    showLast()
    plot.over.addEventListener('mouseleave', showLast)
    plot.over.addEventListener('mouseenter', () => {
      time.style.display = ''
    })
    return () => {
      clearTimeout(timer)
      plot.destroy()
    }
  }, [lines, format, step, since, width, scheme])
  const began = beganAt(lines, since)
  const highest = lines.filter(line => !isHighestLast(line)).flatMap(line => highestOf(line, format))
  return (
    // Until it is drawn anew a chart is as wide as the window was before: that must not widen the page.
    <Box ref={ref} style={{ overflow: 'hidden' }}>
      <div ref={place} role="img" aria-label={`${label}. ${lines.map(line => summaryOf(line, format)).join('; ')}`} />
      {highest.length > 0 && (
        <Text size="xs" c="dimmed" className="numbers">
          {words.highest(highest.join(' · '))}
        </Text>
      )}
      {began !== undefined && (
        <Text size="xs" c="dimmed" className="numbers">
          {words.began(formatDate(new Date(began * 1000).toISOString()))}
        </Text>
      )}
    </Box>
  )
}

/** The last time at which some line has a value; -1 where there is none. */
const lastMeasured = ([times, ...lines]: uPlot.AlignedData): number =>
  Array.from(times).findLastIndex((_, index) => lines.some(values => values[index] != null))

type Format = ChartProps['format']

const measuredOf = ({ points }: Line) => points.flatMap(([time, value]) => (value === null ? [] : [{ time, value }]))

/** Then the legend tells it already. */
function isHighestLast(line: Line): boolean {
  const values = measuredOf(line).map(({ value }) => value)
  return values.at(-1) === values.reduce((highest, value) => Math.max(highest, value), Number.NEGATIVE_INFINITY)
}

/** A list with the text of the highest value; empty if there is none. */
function highestOf(line: Line, format: Format): string[] {
  const [first, ...rest] = measuredOf(line)
  if (first === undefined) return []
  const { value, time } = rest.reduce((highest, one) => (one.value > highest.value ? one : highest), first)
  return [words.peak(line.label, format(value), hour(time))]
}

/** The chart in words, for screen readers. */
function summaryOf(line: Line, format: Format): string {
  const last = measuredOf(line).at(-1)
  if (last === undefined) return words.nothing(line.label)
  return `${words.now(line.label, format(last.value))}, ${words.highest(highestOf(line, format).join(''))}`
}

/** The lines come from the same server clock: most of their times are the same. */
function dataOf(lines: readonly Line[], since: number | undefined): uPlot.AlignedData {
  const tables = lines.map(({ points }) => [
    points.map(([time]) => time),
    points.map(([, value]) => value),
  ]) as unknown as uPlot.AlignedData[]
  const [times, ...values] = tables.length === 1 ? tables[0]! : uPlot.join(tables)
  const first = firstDrawn(
    Array.from(times),
    values.map(each => Array.from(each!)),
    since,
  )
  return [times, ...values].map(each => Array.from(each!).slice(first)) as uPlot.AlignedData
}
