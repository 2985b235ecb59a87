/** The tabs of a distribution's page, which are part of its address. The first is the default. */
export const distributionTabs = [
  'general',
  'behaviors',
  'pages',
  'headers',
  'restrictions',
  'test',
  'cache',
  'purge',
  'warmup',
  'statistics',
] as const

export type DistributionTab = (typeof distributionTabs)[number]
