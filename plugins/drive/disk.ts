/** The door to the disk: only `system-disk.ts` behind it touches files of drives, and tests put a simulated one in its place. */
import type { Ports } from 'svc/kernel'

export interface DiskFile {
  /** True when opened past the page cache: buffer address, offset and length must then be multiples of 4096. */
  readonly direct: boolean
  /** True when opened so that each write returns only when its bytes are on stable storage: `datasync` is then implied. */
  readonly synchronous: boolean
  /** Reads up to `length` bytes at `position` into `buffer` at `offset`; fewer only at the end of the file. */
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<number>
  /** Writes all of it, or rejects. */
  write(buffer: Uint8Array, offset: number, length: number, position: number): Promise<void>
  /** Returns when data and size are on stable storage. After a failure nothing written since the last success is trusted. */
  datasync(): Promise<void>
  truncate(size: number): Promise<void>
  size(): Promise<number>
  close(): Promise<void>
}

/** Of a file system: `totalBytes` is what is used, `freeBytes` and `reservedBytes`. */
export interface DiskSpace {
  readonly totalBytes: number
  /** What this process may still write. */
  readonly freeBytes: number
  /** Neither used nor to be had: blocks that the file system keeps for root. */
  readonly reservedBytes: number
  readonly freeInodes: number
  /** The same for all paths of a file system. */
  readonly device?: number
}

export interface OpenOptions {
  readonly mode: 'read' | 'write' | 'create'
  /**
   * It is only read, and keeps its name until it is closed (a pinned blob). So `close` does not wait for the file system, and is done
   * without another thread. The last close of a file without a name would free its bytes, which may wait for the drive.
   */
  readonly staysWhileOpen?: boolean
  /** `create` fails when the file exists. */
  readonly exclusive?: boolean
  /** Ask for O_DIRECT; silently without it where the file system has none (see `DiskFile.direct`). */
  readonly direct?: boolean
  /** Ask that each write be on stable storage when it returns; one trip instead of two. See `DiskFile.synchronous`. */
  readonly synchronous?: boolean
}

/** Errors carry Node's `code` (ENOENT, ENOSPC, EIO…). Paths are absolute. */
export interface Disk {
  open(path: string, options: OpenOptions): Promise<DiskFile>
  /** With all folders above it that are missing. Nothing happens when it is there; ENOTDIR, with the path, where a file is in the way. */
  makeDirectory(path: string): Promise<void>
  list(path: string): Promise<string[]>
  exists(path: string): Promise<boolean>
  rename(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  /** Makes created, renamed and removed names in this directory durable. */
  syncDirectory(path: string): Promise<void>
  space(path: string): Promise<DiskSpace>
  /** A number of the file system that the path is on, as long as it stays mounted. Absent where there is only one. */
  deviceOf?(path: string): Promise<number>
}

/** What a drive takes from outside. */
export interface DrivePorts extends Ports {
  readonly disk: Disk
}
