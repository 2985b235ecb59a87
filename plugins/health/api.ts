/**
 * Health probes for load balancers, orchestrators and people. A plugin that can fail while the process runs contributes a
 * check to `health.check`; the id of the contribution is its name in the answer.
 */
export interface HealthState {
  readonly ok: boolean
  /** A word or a short sentence without secrets: it is shown to everybody, also where all is well enough (`ok`). */
  readonly detail?: string
}

/** Must answer quickly and from known state: probes are frequent. A throw or a late answer counts as not ok. */
export type HealthCheck = () => HealthState | Promise<HealthState>

/** The drives behind `/svc/health/cluster`. */
export interface DriveCount {
  readonly drives: number
  readonly drivesOnline: number
  /** Every erasure set (here: the one drive) accepts writes. */
  readonly writeQuorum: boolean
  /** Nothing but a restart of the process helps. */
  readonly needsRestart?: boolean
}

declare module 'svc/kernel' {
  interface ExtensionPoints {
    'health.check': HealthCheck
    'health.drives': () => DriveCount | Promise<DriveCount>
  }
}
