/** Lines over time, drawn by uPlot. */
import 'uplot/dist/uPlot.min.css'
import { Box, useComputedColorScheme } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'

export interface Line {
  readonly label: string
  /** Seconds since 1970 and a value; null where nothing was measured. */
  readonly points: readonly (readonly [number, number | null])[]
}

const colours = ['#0c8599', '#e8590c', '#7048e8', '#2f9e44']
const height = 140

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const hour = (seconds: number) => clock.format(seconds * 1000)

/** Rounded, neighbours may be the same: then it is said once. */
const distinct = (labels: readonly string[]) => labels.map((label, index) => (label === labels[index - 1] ? '' : label))

export interface ChartProps {
  readonly label: string
  readonly lines: readonly Line[]
  readonly format: (value: number) => string
}

export function Chart({ label, lines, format }: ChartProps) {
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
        legend: { show: lines.length > 1 },
        scales: { y: { range: (_, min, max) => [Math.min(0, min ?? 0), max || 1] } },
        axes: [
          { ...axis, space: 64, values: (_, ticks) => ticks.map(hour) },
          { ...axis, size: 64, values: (_, ticks) => distinct(ticks.map(format)) },
        ],
        series: [
          { value: (_: uPlot, seconds: number | null) => (seconds === null ? '–' : hour(seconds)) },
          ...lines.map((line, index) => ({
            label: line.label,
            stroke: colours[index % colours.length]!,
            width: 1.5,
            value: (_: uPlot, value: number | null) => (value === null ? '–' : format(value)),
          })),
        ],
      },
      dataOf(lines),
      place.current,
    )
    return () => plot.destroy()
  }, [lines, format, width, scheme])
  return (
    // Until it is drawn anew a chart is as wide as the window was before: that must not widen the page.
    <Box ref={ref} role="img" aria-label={label} style={{ overflow: 'hidden' }}>
      <div ref={place} />
    </Box>
  )
}

/** The lines come from the same server clock: most of their times are the same. */
function dataOf(lines: readonly Line[]): uPlot.AlignedData {
  const tables = lines.map(({ points }) => [
    points.map(([time]) => time),
    points.map(([, value]) => value),
  ]) as unknown as uPlot.AlignedData[]
  return tables.length === 1 ? tables[0]! : uPlot.join(tables)
}
