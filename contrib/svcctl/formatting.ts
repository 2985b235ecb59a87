/** Values as people read them. Exact ones are in `--json`. */

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** Three significant digits: `1.50 MiB`. */
export function formatBytes(count: number): string {
  let value = Math.max(count, 0)
  let unit = 0
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2
  return `${value.toFixed(digits)} ${units[unit]}`
}

/** `2h05m`, `1m30s`, `7s`. */
export function formatSeconds(count: number): string {
  const seconds = Math.ceil(count)
  if (seconds >= 360_000) return '>99h'
  const pad = (value: number) => String(value).padStart(2, '0')
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)}h${pad(Math.floor((seconds % 3600) / 60))}m`
  if (seconds >= 60) return `${Math.floor(seconds / 60)}m${pad(seconds % 60)}s`
  return `${seconds}s`
}

/** UTC, to the second. */
export function formatTime(ms: number): string {
  return Number.isNaN(ms) ? '-'.padEnd(20) : new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

export const isoTime = (ms: number): string | undefined => (Number.isNaN(ms) ? undefined : new Date(ms).toISOString())

/** The JSON with control characters escaped that a terminal would obey. */
export function safeJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Keys may contain control sequences: control characters are shown in escaped form. */
export function safeText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are taken out
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, character => {
    const code = character.charCodeAt(0)
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
}

/** Lines of at most `width` characters, wrapped between words; a longer word gets its own line. */
export function wrapWords(text: string, width: number): string[] {
  if (text.length <= width) return [text]
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}
