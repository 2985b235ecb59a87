/** Lifecycle rules in the simplest possible code: it walks all versions and evaluates every rule. */
import type { LifecycleRule } from '../rules.ts'

const dayMs = 86_400_000

export interface ModelVersion {
  id: string
  isMarker: boolean
  size: number
  tags: Record<string, string>
  hold: boolean
  modifiedMs: number
  /** When it stopped being the newest version. */
  sinceMs: number
}

export interface ModelUpload {
  key: string
  id: string
  startedMs: number
}

export const noResult = () => ({ deleted: 0, deleteMarkers: 0, replaced: 0, uploadsAborted: 0, locked: 0 })

/** The first midnight after this number of days. */
function passed(startMs: number, days: number, nowMs: number): boolean {
  const date = new Date(startMs + days * dayMs)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + 1) <= nowMs
}

export class LifecycleModel {
  versioning: 'off' | 'enabled' | 'suspended' = 'off'
  rules: LifecycleRule[] = []
  /** Newest first. */
  readonly keys = new Map<string, ModelVersion[]>()
  uploads: ModelUpload[] = []

  versions(key: string): ModelVersion[] {
    return this.keys.get(key) ?? []
  }

  add(key: string, version: Omit<ModelVersion, 'sinceMs'>): void {
    let older = this.versions(key)
    if (this.versioning !== 'enabled') older = older.filter(({ id }) => id !== 'null')
    if (older[0] !== undefined && older[0] === this.versions(key)[0]) older[0].sinceMs = version.modifiedMs
    this.keys.set(key, [{ ...version, sinceMs: Number.NaN }, ...older])
  }

  remove(key: string, gone: ModelVersion): void {
    this.keys.set(
      key,
      this.versions(key).filter(version => version !== gone),
    )
  }

  run(nowMs: number, newMarker: (key: string) => Omit<ModelVersion, 'sinceMs'>) {
    const result = noResult()
    const rules = this.rules.filter(rule => rule.enabled)
    for (const [key, versions] of this.keys) {
      const doomed = versions.filter((version, place) => {
        if (place === 0) return false
        return rules.some(rule => {
          const { noncurrentDays, newerNoncurrentVersions = 0 } = rule.noncurrentExpiration ?? {
            noncurrentDays: Infinity,
          }
          if (noncurrentDays === Infinity || place - 1 < newerNoncurrentVersions) return false
          return passed(version.sinceMs, noncurrentDays, nowMs) && this.fits(rule, key, version)
        })
      })
      for (const version of doomed) this.go(key, version, result)
    }
    for (const [key, versions] of this.keys) {
      const [only, ...others] = versions
      if (only?.isMarker !== true || others.length > 0) continue
      const goes = rules.some(rule => {
        if (!this.fits(rule, key, only)) return false
        return rule.expiration?.expiredObjectDeleteMarker === true || this.expires(rule, only.modifiedMs, nowMs)
      })
      if (goes) this.go(key, only, result)
    }
    for (const [key, versions] of this.keys) {
      const newest = versions[0]
      if (newest === undefined || newest.isMarker) continue
      if (!rules.some(rule => this.expires(rule, newest.modifiedMs, nowMs) && this.fits(rule, key, newest))) continue
      if (this.versioning === 'off') {
        this.go(key, newest, result)
        continue
      }
      if (newest.hold) result.locked++
      result.deleteMarkers++
      if (this.versioning === 'suspended' && versions.some(({ id }) => id === 'null')) result.replaced++
      this.add(key, newMarker(key))
    }
    this.uploads = this.uploads.filter(upload => {
      const goes = rules.some(({ abortIncompleteUpload: abort, ...rule }) => {
        const prefix = rule.prefix ?? rule.filter?.prefix ?? rule.filter?.and?.prefix ?? ''
        return (
          abort !== undefined &&
          upload.key.startsWith(prefix) &&
          passed(upload.startedMs, abort.daysAfterInitiation, nowMs)
        )
      })
      if (goes) result.uploadsAborted++
      return !goes
    })
    return result
  }

  private go(key: string, version: ModelVersion, result: ReturnType<typeof noResult>): void {
    if (version.hold) {
      result.locked++
      return
    }
    result.deleted++
    this.remove(key, version)
  }

  private expires({ expiration }: LifecycleRule, modifiedMs: number, nowMs: number): boolean {
    if (expiration?.days !== undefined) return passed(modifiedMs, expiration.days, nowMs)
    return expiration?.dateMs !== undefined && expiration.dateMs <= nowMs && passed(modifiedMs, 0, nowMs)
  }

  private fits({ prefix, filter }: LifecycleRule, key: string, version: ModelVersion): boolean {
    if (prefix !== undefined) return key.startsWith(prefix)
    const all = [filter!, ...(filter!.and === undefined ? [] : [filter!.and])]
    return all.every(part => {
      const tags = 'tags' in part ? part.tags : 'tag' in part && part.tag !== undefined ? [part.tag] : []
      const asksMore = tags.length > 0 || part.sizeGreaterThan !== undefined || part.sizeLessThan !== undefined
      if (asksMore && version.isMarker) return false
      return (
        key.startsWith(part.prefix ?? '') &&
        version.size > (part.sizeGreaterThan ?? -1) &&
        version.size < (part.sizeLessThan ?? Infinity) &&
        tags.every(tag => version.tags[tag.key] === tag.value)
      )
    })
  }
}
