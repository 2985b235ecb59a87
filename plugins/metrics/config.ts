import Type, { type Static } from 'typebox'

export const metricsConfig = Type.Object({
  authType: Type.Union([Type.Literal('jwt'), Type.Literal('public')], {
    variable: 'SVC_PROMETHEUS_AUTH_TYPE',
    environmentOnly: true,
    default: 'jwt',
    description: 'Who may scrape: jwt asks for a bearer token made by `svc prometheus generate`, public lets everyone.',
  }),
})

export type MetricsConfig = Static<typeof metricsConfig>
