/** The last lines that were written: so many audit records, and so many others. Bounded by lines and by characters. */
import { isAudit } from './line.ts'

export const ringLinesMax = 1000
const ringCharsMax = 2 * 1024 * 1024

interface Numbered {
  readonly number: number
  readonly text: string
}

class Ring {
  #lines: Numbered[] = []
  #first = 0
  #chars = 0

  push(line: Numbered): void {
    this.#lines.push(line)
    this.#chars += line.text.length
    while (this.#lines.length - this.#first > ringLinesMax || this.#chars > ringCharsMax) {
      this.#chars -= this.#lines[this.#first++]!.text.length
    }
    // Moves the remaining lines once per full turn.
    if (this.#first < ringLinesMax) return
    this.#lines = this.#lines.slice(this.#first)
    this.#first = 0
  }

  get lines(): readonly Numbered[] {
    return this.#lines.slice(this.#first)
  }
}

export class LastLines {
  readonly #audit = new Ring()
  readonly #others = new Ring()
  #number = 0

  push(text: string): void {
    const ring = isAudit(text) ? this.#audit : this.#others
    ring.push({ number: this.#number++, text })
  }

  /** Oldest first. */
  texts(): readonly string[] {
    const all = [...this.#audit.lines, ...this.#others.lines].sort((a, b) => a.number - b.number)
    return all.map(({ text }) => text)
  }
}
