/** The parts of the page “Tools”, and who sees them: any of these rights is enough. */
export const needsOfTools = {
  archives: ['admin:ExportCluster', 'admin:ImportCluster', 'admin:ConfigUpdate', 'admin:GetConfig'],
  speedTest: ['admin:Speedtest'],
  profile: ['admin:Profiling'],
} as const satisfies Readonly<Record<string, readonly string[]>>
