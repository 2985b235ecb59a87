/** The parts of the page “Tools”, and who sees them: any of these rights is enough. */
export const needsOfTools = {
  export: ['admin:ExportCluster', 'admin:GetConfig'],
  import: ['admin:ImportCluster', 'admin:ConfigUpdate'],
  speedTest: ['admin:Speedtest'],
  profile: ['admin:Profiling'],
} as const satisfies Readonly<Record<string, readonly string[]>>
